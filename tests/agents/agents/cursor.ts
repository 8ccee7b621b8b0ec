import type { Agent } from "./agent.ts";

export const cursor: Agent = {
  id: "cursor",
  asksFor: "everything",
  hasRecipe: false,
  knownFailures: { install: "It is in the ACP registry only, which this run does not use." },
};
