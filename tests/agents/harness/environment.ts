/**
 * What a server, and with it an agent, is started with: a home of its own, nothing of whoever runs this but the
 * language and the way to the package registries.
 */

import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Recipe } from "./model.ts";

/** Not below the system's folder for temporary files, where Codex refuses to keep its settings. */
export const SCRATCH = fileURLToPath(new URL("../../../target/agent-matrix/", import.meta.url));

/** The variable by which everything that was started for one agent can be told from anything else. */
export const MARK = "AGENT_MATRIX_MARK";

/** Variables that lead to the package registries, or are harmless. */
const KEPT =
  /^(PATH|LANG|LC_.*|TZ|TERM|USER|LOGNAME|TMPDIR|PYENV_ROOT|(NPM_CONFIG|PIP|UV|SSL)_.*|NODE_EXTRA_CA_CERTS|.*_CA_BUNDLE|.*_PROXY)$/i;
/** Where the npm that runs this script works, and what it has fetched before: installs here are cold. */
const DROPPED =
  /^NPM_CONFIG_(CACHE|PREFIX|LOCAL_PREFIX|GLOBAL_PREFIX|INIT_MODULE|WORKSPACE.*|INCLUDE_WORKSPACE_ROOT)$/i;

/** Folders and variables for one agent. */
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

/** Makes the folders for an agent anew, with the files of its recipe in place. */
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
  // Nobody outside is asked for agents: what is installed are the versions that the catalog pins.
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
      // One agent keeps its shells in a server that all of its processes on the machine share.
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
  // What is looked for at home, and would not be found in a home of its own.
  for (const [name, path] of [
    ["NPM_CONFIG_USERCONFIG", join(homedir(), ".npmrc")],
    ["PYENV_ROOT", join(homedir(), ".pyenv")],
  ] as const) {
    if (!known.has(name) && existsSync(path)) env[name] = path;
  }
  return env;
}
