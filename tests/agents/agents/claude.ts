import type { Agent } from "./agent.ts";

export const claude: Agent = { id: "claude", asksFor: "everything" };
