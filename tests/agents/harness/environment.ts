/**
 * The environment of a server and its agent: a home directory of its own, and only those variables of this process that
 * set the locale and the access to package registries.
 */

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Recipe } from "./model.ts";

/** The folder of all runs. Not the system's temporary directory, where Codex refuses to store its settings. */
export const SCRATCH = fileURLToPath(new URL("../../../target/agent-matrix/", import.meta.url));

/** The variable that marks every process that was started for one agent. */
export const MARK = "AGENT_MATRIX_MARK";

/** The variables to keep: they configure package registries, or are harmless. */
const KEPT =
  /^(PATH|LANG|LC_.*|TZ|TERM|USER|LOGNAME|TMPDIR|PYENV_ROOT|(NPM_CONFIG|PIP|UV|SSL)_.*|NODE_EXTRA_CA_CERTS|.*_CA_BUNDLE|.*_PROXY)$/i;
/** The exceptions: settings of the npm that runs this script, and its cache. Installs must start from nothing. */
const DROPPED =
  /^NPM_CONFIG_(CACHE|PREFIX|LOCAL_PREFIX|GLOBAL_PREFIX|INIT_MODULE|WORKSPACE.*|INCLUDE_WORKSPACE_ROOT)$/i;

/** The folders and variables of one agent. */
export interface AgentEnvironment {
  readonly folder: string;
  readonly workspace: string;
  readonly data: string;
  readonly log: string;
  readonly env: Readonly<Record<string, string>>;
  /** The value of {@link MARK}. */
  readonly mark: string;
  remove(): Promise<void>;
}

/** Creates the folders of an agent, with the files of its recipe. */
export async function prepare(agent: string, recipe: Recipe): Promise<AgentEnvironment> {
  const folder = join(SCRATCH, agent);
  await rm(folder, { recursive: true, force: true });
  const [home, workspace, data] = [join(folder, "home"), join(folder, "workspace"), join(folder, "data")];
  for (const each of [home, workspace, data]) await mkdir(each, { recursive: true });
  for (const { path, content } of recipe.files) {
    const file = path.replace(/^~/, home);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  // The registry is empty, so that the versions that the catalog pins are installed.
  const registry = join(folder, "registry.json");
  await writeFile(registry, JSON.stringify({ version: "1", agents: [] }));
  const mark = randomUUID();
  return {
    folder,
    workspace,
    data,
    log: join(folder, "server.log"),
    mark,
    env: {
      ...inherited(),
      ...Object.fromEntries(recipe.environment.map(({ name, value }) => [name, value])),
      HOME: home,
      NPM_CONFIG_CACHE: join(folder, "npm-cache"),
      UV_CACHE_DIR: join(folder, "uv-cache"),
      PIP_CACHE_DIR: join(folder, "pip-cache"),
      // One agent runs its shells in tmux. A tmux server outside of this folder would be shared with other runs.
      TMUX_TMPDIR: folder,
      SANDBOX_AGENT_ACP_REGISTRY_URL: pathToFileURL(registry).href,
      SANDBOX_AGENT_CONFIG: "/dev/null",
      [MARK]: mark,
    },
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

function inherited(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => KEPT.test(name) && !DROPPED.test(name));
  const env = Object.fromEntries(kept.map(([name, value]) => [name, value ?? ""]));
  const known = new Set(Object.keys(env).map((name) => name.toUpperCase()));
  // Programs look these files up in the home directory, which is a new one here.
  for (const [name, path] of [
    ["NPM_CONFIG_USERCONFIG", join(homedir(), ".npmrc")],
    ["PYENV_ROOT", join(homedir(), ".pyenv")],
  ] as const) {
    if (!known.has(name) && existsSync(path)) env[name] = path;
  }
  return env;
}
