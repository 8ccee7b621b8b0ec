import type { Agent } from "./agent.ts";

export const droid: Agent = {
  id: "droid",
  asksFor: "everything",
  knownFailures: { sessions: "It sends the chunks of one session to all sessions of its process." },
};
