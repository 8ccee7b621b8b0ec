import type { Agent } from "./agent.ts";

export const amp: Agent = {
  id: "amp",
  asksFor: "everything",
  hasRecipe: false,
  knownFailures: { install: "It is in the ACP registry only, which this run does not use." },
};
