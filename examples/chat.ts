/**
 * A chat in the terminal: sends your input to the agent, and prints the answer as it streams in.
 *
 *   node chat.ts [agent]
 */

import { createInterface } from "node:readline";
import { SandboxAgentClient } from "sandbox-agent";

const agent = process.argv[2] ?? "mock";
await using client = await SandboxAgentClient.start({ agent });
const session = await client.newSession();

client.onEvent((event) => {
  if (event.type === "item.delta" && event.item === undefined) {
    for (const piece of event.content) if (piece.type === "text") process.stdout.write(piece.text);
  }
  if (event.type === "item.started" && event.item.kind === "tool_call") {
    process.stdout.write(`\n[${event.item.tool?.title ?? "tool"}]\n`);
  }
});

console.log(`Talking to ${client.connection?.agentName}. An empty line ends the chat.`);
const terminal = createInterface({ input: process.stdin });
process.stdout.write("\n> ");
for await (const line of terminal) {
  if (line === "") break;
  const { stopReason } = await client.prompt(session.id, line);
  if (stopReason !== "end_turn") process.stdout.write(`(${stopReason})`);
  process.stdout.write("\n> ");
}
terminal.close();
