import type { Agent } from "./agent.ts";

export const cline: Agent = {
  id: "cline",
  asksFor: "everything",
  knownFailures: { fail: "It ends the turn as if all were well, without a word about the failure." },
};
