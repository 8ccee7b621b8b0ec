import type { Agent } from "./agent.ts";

export const fastAgent: Agent = { id: "fast-agent", asksFor: "everything", asksForHostOnly: true };
