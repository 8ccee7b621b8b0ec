/** Reads the question from an agent request, with the SDK's conversions. */

import { type Question, REQUEST_QUESTION, readElicitation, readQuestion } from "sandbox-agent/convert";
import type { AgentRequest } from "../journal/types.ts";

/** The question in a request; `undefined` for a permission request or an unknown method. */
export function questionOf({ method, params, key, sessionId }: AgentRequest): Question | undefined {
  const ids = { questionId: key, sessionId: sessionId ?? "" };
  if (method === REQUEST_QUESTION) return readQuestion(params, ids);
  if (method === "elicitation/create") return readElicitation(params, ids);
  return undefined;
}
