import type { Agent } from "./agent.ts";

export const kimi: Agent = {
  id: "kimi",
  asksFor: "shell",
  knownFailures: { fail: "It ends the turn as if all were well, without a word about the failure." },
};
