/** What comes from the agent and its connection beside notifications: what it agentRequests, and what happens to it. */

import type { AcpStreamEvent } from "acp-http-client";
import { processEnded, unparsedLine } from "../convert/events.ts";
import { REQUEST_QUESTION } from "../convert/questions.ts";
import { objectOf, textOf } from "../json.ts";
import type { AgentRequests, RequestContext } from "./agent-requests.ts";
import { type ClientMethodOptions, callClientMethod } from "./client-methods.ts";
import { now } from "./ids.ts";
import type { OpenSessions } from "./open-sessions.ts";

const PERMISSION = "session/request_permission";
const FORM = "elicitation/create";

/** Who hears. */
export interface Receivers {
  readonly sessions: OpenSessions;
  readonly agentRequests: AgentRequests;
}

/** Answers a request of the agent. */
export async function onAgentRequest(
  { sessions, agentRequests, host }: Receivers & { readonly host: ClientMethodOptions },
  method: string,
  params: unknown,
  context: RequestContext,
): Promise<unknown> {
  if (![PERMISSION, REQUEST_QUESTION, FORM].includes(method)) return callClientMethod(method, params, host);
  const agentSessionId = textOf(objectOf(params).sessionId);
  // A form may belong to a request and to no session; it is then context in the session that is busy.
  const busy = sessions.all().find((session) => session.turn) ?? sessions.all().at(-1);
  const session = agentSessionId === undefined ? busy : await sessions.whenOpen(agentSessionId);
  const sessionId = session?.record.id ?? agentSessionId ?? "";
  if (method === PERMISSION) return agentRequests.permission(sessionId, params, context);
  return agentRequests.question(sessionId, params, context, method === REQUEST_QUESTION ? "question" : "form");
}

/** Takes what happened beside the messages, and tells the sessions that it concerns: all of them. */
export function onStreamEvent({ sessions, agentRequests }: Receivers, event: AcpStreamEvent): void {
  if (event.type === "answered") {
    agentRequests.answeredElsewhere(event.id);
    agentRequests.answeredElsewhere(`${event.id}@${event.event}`);
    return;
  }
  for (const session of sessions.all()) {
    if (event.type === "unparsed") sessions.emit(session, unparsedLine(event));
    else if (event.type === "exit") {
      if (session.record.endedAt === undefined) sessions.emit(session, processEnded(event.exit), { source: "daemon" });
      sessions.update(session, { endedAt: now() });
    } else if (event.type === "gap") {
      const message = "some of what the agent said is lost: it was more than the server keeps";
      sessions.emit(session, { type: "error", code: "gap", message }, { source: "daemon" });
    } else if (event.type === "undelivered") {
      const { message } = event.error;
      sessions.emit(session, { type: "error", code: "undelivered", message }, { source: "client" });
    }
  }
}
