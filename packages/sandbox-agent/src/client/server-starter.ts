/**
 * How a client starts a server. The entry point for Node.js, Deno and Bun provides the code for it. The entry point for
 * browsers, which cannot start processes, does not, so that bundles for browsers do not contain that code.
 */

import { SandboxAgentError } from "../errors.ts";
import type { EmbeddedOptions, EmbeddedServer } from "./embedded.ts";

/** Starts a server and waits until it listens. */
export type ServerStarter = (options: EmbeddedOptions) => Promise<EmbeddedServer>;

let provided: ServerStarter | undefined;

/** Provides the code that starts a server. */
export function provideServerStarter(starter: ServerStarter): void {
  provided = starter;
}

/** Starts a server, if this platform can. */
export const startOwnServer: ServerStarter = async (options) => {
  if (provided) return provided(options);
  const message = "a browser cannot start a server: use new SandboxAgentClient({ baseUrl, agent })";
  throw new SandboxAgentError("unsupported_here", message);
};
