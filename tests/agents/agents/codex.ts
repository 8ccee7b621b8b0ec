import type { Agent } from "./agent.ts";

export const codex: Agent = { id: "codex", asksFor: "everything" };
