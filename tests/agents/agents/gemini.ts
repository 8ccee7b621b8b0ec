import type { Agent } from "./agent.ts";

export const gemini: Agent = {
  id: "gemini",
  asksFor: "everything",
  loadsInAnotherMinute: true,
  knownFailures: {
    host: "It takes any answer that a file does not exist for a failure, so it makes no new file through its client.",
  },
};
