/** A client of the scripted agent. */

import { fileURLToPath } from "node:url";
import type { SandboxAgentClientOptions } from "../client/options.ts";
import type { SandboxAgentClient } from "../client.ts";
import type { Step } from "./script-agent.ts";
import { startTestServer, testClient } from "./server.ts";

export type { Step } from "./script-agent.ts";

const AGENT = fileURLToPath(new URL("./script-agent.ts", import.meta.url));

/** Starts a server and connects to an agent that does what its prompts say. */
export async function scriptClient(options: Partial<SandboxAgentClientOptions> = {}): Promise<SandboxAgentClient> {
  const server = await startTestServer({ args: ["--agent", `script=${process.execPath} ${AGENT}`] });
  return testClient(server, { agent: "script", ...options });
}

/** The prompt that makes the agent take these steps. */
export function script(...steps: readonly Step[]): string {
  return JSON.stringify(steps);
}
