// An agent that starts but opens no session, like an agent that lacks a dependency.
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  const error = { code: -32603, message: "Internal error", data: { details: "the model's key is missing" } };
  const outcome = method === "initialize" ? { result: { protocolVersion: 1, agentCapabilities: {} } } : { error };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
}
