import type { Agent } from "./agent.ts";

export const gemini: Agent = {
  id: "gemini",
  asksFor: "everything",
  loadsInAnotherMinute: true,
  knownFailures: {
    host: "It treats a missing file as a failure, so it creates no new file through its client.",
  },
};
