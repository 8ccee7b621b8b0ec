import type { Agent } from "./agent.ts";

export const pi: Agent = {
  id: "pi",
  asksFor: "nothing",
  knownFailures: { fail: "It ends the turn normally and does not report the failure." },
};
