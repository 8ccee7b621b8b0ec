import type { Agent } from "./agent.ts";

export const cline: Agent = {
  id: "cline",
  asksFor: "everything",
  knownFailures: { fail: "It ends the turn normally and does not report the failure." },
};
