import type { Agent } from "./agent.ts";

export const junie: Agent = {
  id: "junie",
  asksFor: "everything",
  hasRecipe: false,
  knownFailures: { install: "It is in the ACP registry only, which this run does not use." },
};
