/**
 * The package in Node.js, Deno and Bun: the same as in a browser, and `SandboxAgentClient.start()` works.
 *
 * @packageDocumentation
 */

import { startServer } from "./client/embedded.ts";
import { provideServerStarter } from "./client/server-starter.ts";

provideServerStarter(startServer);

export * from "./index.ts";
