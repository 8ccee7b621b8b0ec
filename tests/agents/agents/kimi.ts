import type { Agent } from "./agent.ts";

export const kimi: Agent = {
  id: "kimi",
  asksFor: "shell",
  knownFailures: { fail: "It ends the turn normally and does not report the failure." },
};
