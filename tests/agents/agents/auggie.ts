import type { Agent } from "./agent.ts";

export const auggie: Agent = {
  id: "auggie",
  asksFor: "everything",
  hasRecipe: false,
  knownFailures: { session: "It works with its vendor's cloud only, and requires a login." },
};
