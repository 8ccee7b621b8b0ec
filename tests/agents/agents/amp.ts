import type { Agent } from "./agent.ts";

export const amp: Agent = {
  id: "amp",
  asksFor: "everything",
  hasRecipe: false,
  known: { install: "It comes from the ACP registry only, which is not asked here." },
};
