import type { Agent } from "./agent.ts";

export const cursor: Agent = {
  id: "cursor",
  asksFor: "everything",
  hasRecipe: false,
  knownFailures: { install: "It comes from the ACP registry only, which is not asked here." },
};
