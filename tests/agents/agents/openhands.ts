import type { Agent } from "./agent.ts";

export const openhands: Agent = {
  id: "openhands",
  asksFor: "everything",
  knownFailures: {
    cancel:
      "It does not abort its request to the model when it is cancelled; the turn ends when the model has answered.",
  },
};
