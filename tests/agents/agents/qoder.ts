import type { Agent } from "./agent.ts";

export const qoder: Agent = {
  id: "qoder",
  asksFor: "everything",
  hasRecipe: false,
  knownFailures: { session: "It works with its vendor's cloud only, and requires a login." },
};
