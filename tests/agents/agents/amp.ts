import type { Agent } from "./agent.ts";

export const amp: Agent = {
  id: "amp",
  asksFor: "everything",
  hasRecipe: false,
  knownFailures: { install: "It comes from the ACP registry only, which is not asked here." },
};
