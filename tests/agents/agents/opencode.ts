import type { Agent } from "./agent.ts";

export const opencode: Agent = { id: "opencode", asksFor: "everything" };
