import type { Agent } from "./agent.ts";

export const goose: Agent = { id: "goose", asksFor: "everything" };
