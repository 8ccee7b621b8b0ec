import type { Agent } from "./agent.ts";

export const kilo: Agent = {
  id: "kilo",
  asksFor: "everything",
  knownFailures: { ask: "Its question is never put to the client, and the turn waits for an answer." },
};
