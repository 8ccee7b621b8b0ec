import type { Agent } from "./agent.ts";

export const pi: Agent = {
  id: "pi",
  asksFor: "nothing",
  knownFailures: { fail: "It ends the turn as if all were well, without a word about the failure." },
};
