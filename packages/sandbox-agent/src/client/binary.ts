/** Finds the server's binary. Starts nothing. */

import { SandboxAgentError } from "../errors.ts";

/** The name of the binary. */
const PROGRAM = "sandbox-agent";

/** The npm package that contains the binary for a platform. */
export function platformPackage(platform: string, arch: string): string {
  return `sandbox-agent-cli-${platform}-${arch}`;
}

/**
 * The path of the binary: the given one, else `SANDBOX_AGENT_BIN`, else the package for this platform, else the `PATH`.
 *
 * @throws SandboxAgentError when there is none.
 */
export async function findBinary(given?: string): Promise<string> {
  const named = given || process.env.SANDBOX_AGENT_BIN;
  if (named) return named;
  const carrier = platformPackage(process.platform, process.arch);
  const found = (await inPackage(carrier)) ?? (await onPath(process.env.PATH ?? ""));
  if (found !== undefined) return found;
  const ways = "install it, pass { binary }, or set SANDBOX_AGENT_BIN";
  const message = `the program "${PROGRAM}" was not found in the package ${carrier} or on the PATH: ${ways}`;
  throw new SandboxAgentError("server_missing", message);
}

async function inPackage(name: string): Promise<string | undefined> {
  // Imported here, so that the rest of the package works in a browser.
  const { createRequire } = await import("node:module");
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/${PROGRAM}`);
  } catch {
    return undefined;
  }
}

async function onPath(path: string): Promise<string | undefined> {
  const [{ accessSync, constants, realpathSync }, { delimiter, join }] = await Promise.all([
    import("node:fs"),
    import("node:path"),
  ]);
  for (const folder of path.split(delimiter)) {
    const candidate = join(folder, PROGRAM);
    try {
      accessSync(candidate, constants.X_OK);
      // A script of this name is the launcher of this package or of another version of it, and would search again.
      if (!/\.[cm]?js$/.test(realpathSync(candidate))) return candidate;
    } catch {
      // Not in this directory.
    }
  }
  return undefined;
}
