import type { Agent } from "./agent.ts";

export const grok: Agent = { id: "grok", asksFor: "everything" };
