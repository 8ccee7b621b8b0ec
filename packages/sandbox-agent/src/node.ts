/**
 * The package's entry point in Node.js, Deno and Bun: the same API as in a browser, but `SandboxAgentClient.start()`
 * can start a server.
 *
 * @packageDocumentation
 */

import { startServer } from "./client/embedded.ts";
import { provideServerStarter } from "./client/server-starter.ts";

provideServerStarter(startServer);

export * from "./index.ts";
