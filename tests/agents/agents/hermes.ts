import type { Agent } from "./agent.ts";

export const hermes: Agent = { id: "hermes", asksFor: "edits" };
