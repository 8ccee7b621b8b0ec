import type { Agent } from "./agent.ts";

export const vibe: Agent = { id: "vibe", asksFor: "shell" };
