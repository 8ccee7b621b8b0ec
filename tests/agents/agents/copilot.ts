import type { Agent } from "./agent.ts";

export const copilot: Agent = { id: "copilot", asksFor: "everything" };
