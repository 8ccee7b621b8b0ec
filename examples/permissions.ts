/**
 * The agent asks for permission, and you decide in the terminal.
 *
 *   node permissions.ts [agent] [prompt]
 */

import { createInterface } from "node:readline/promises";
import { type PermissionReply, SandboxAgentClient } from "sandbox-agent";

const [agent = "mock", prompt = "permission"] = process.argv.slice(2);
await using client = await SandboxAgentClient.start({ agent });
const terminal = createInterface({ input: process.stdin, output: process.stdout });

client.onPermission(async ({ title, options }) => {
  console.log(`\nThe agent wants to: ${title}`);
  console.log(`It offers: ${options.map(({ label }) => label).join(", ")}`);
  const answer = (await terminal.question("once, always or reject? ")).trim();
  const replies: PermissionReply[] = ["once", "always", "reject"];
  // Any other input is a rejection.
  return replies.find((reply) => reply === answer) ?? "reject";
});

const session = await client.newSession();
const { text } = await client.prompt(session.id, prompt);
console.log(`\n${text}`);
terminal.close();
