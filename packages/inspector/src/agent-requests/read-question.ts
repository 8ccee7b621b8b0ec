/** What a request of an agent agentRequests of a person, by the SDK's own reading of it. */

import { type Question, REQUEST_QUESTION, readElicitation, readQuestion } from "sandbox-agent/convert";
import type { AgentRequest } from "../journal/types.ts";

/** The question in a request; `undefined` for a permission or a method that is not known. */
export function questionOf({ method, params, key, sessionId }: AgentRequest): Question | undefined {
  const ids = { questionId: key, sessionId: sessionId ?? "" };
  if (method === REQUEST_QUESTION) return readQuestion(params, ids);
  if (method === "elicitation/create") return readElicitation(params, ids);
  return undefined;
}
