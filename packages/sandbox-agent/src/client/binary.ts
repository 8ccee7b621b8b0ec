/** Finds the server's binary, without starting it. */

import { accessSync, constants, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
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
 * @throws SandboxAgentError when there is no binary.
 */
export async function findBinary(given?: string): Promise<string> {
  const named = given || process.env.SANDBOX_AGENT_BIN;
  if (named) return named;
  const carrier = platformPackage(process.platform, process.arch);
  const found = inPackage(carrier) ?? onPath(process.env.PATH ?? "");
  if (found !== undefined) return found;
  const ways = "install it, pass { binary }, or set SANDBOX_AGENT_BIN";
  const message = `the program "${PROGRAM}" was not found in the package ${carrier} or on the PATH: ${ways}`;
  throw new SandboxAgentError("server_missing", message);
}

function inPackage(name: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/${PROGRAM}`);
  } catch {
    return undefined;
  }
}

function onPath(path: string): string | undefined {
  for (const folder of path.split(delimiter)) {
    const candidate = join(folder, PROGRAM);
    try {
      accessSync(candidate, constants.X_OK);
      // A script of this name is the launcher of an npm package like this one. It would search for the binary again.
      if (!/\.[cm]?js$/.test(realpathSync(candidate))) return candidate;
    } catch {
      // Not in this directory.
    }
  }
  return undefined;
}
