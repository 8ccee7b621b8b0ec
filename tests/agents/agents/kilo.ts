import type { Agent } from "./agent.ts";

export const kilo: Agent = {
  id: "kilo",
  asksFor: "everything",
  knownFailures: { ask: "It does not send its question to the client, and the turn waits for an answer." },
};
