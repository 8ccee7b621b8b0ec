import type { Agent } from "./agent.ts";

export const qwen: Agent = { id: "qwen", asksFor: "everything" };
