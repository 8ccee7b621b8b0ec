/** Handles what a connection delivers, except notifications: agent requests, and events of the stream. */

import type { AcpStreamEvent } from "acp-http-client";
import { processEnded, unparsedLine } from "../convert/events.ts";
import { openTool } from "../convert/items.ts";
import { REQUEST_QUESTION } from "../convert/questions.ts";
import { objectOf, textOf } from "../json.ts";
import type { AgentRequests, RequestContext } from "./agent-requests.ts";
import { type ClientMethodOptions, callClientMethod } from "./client-methods.ts";
import { now } from "./ids.ts";
import type { OpenSessions } from "./open-sessions.ts";
import type { Outage } from "./outage.ts";

const PERMISSION = "session/request_permission";
const FORM = "elicitation/create";

/** Where agent requests are delivered to. */
export interface Receivers {
  readonly sessions: OpenSessions;
  readonly agentRequests: AgentRequests;
}

/** Where events of the stream are delivered to. */
export interface StreamReceivers extends Receivers {
  readonly outage: Outage;
}

/** Handles an agent request. */
export async function onAgentRequest(
  { sessions, agentRequests, host }: Receivers & { readonly host: ClientMethodOptions },
  method: string,
  params: unknown,
  context: RequestContext,
): Promise<unknown> {
  if (![PERMISSION, REQUEST_QUESTION, FORM].includes(method)) return callClientMethod(method, params, host);
  const agentSessionId = textOf(objectOf(params).sessionId);
  // An elicitation may refer to a request instead of a session. It then belongs to the session with a running turn.
  const busy = sessions.all().find((session) => session.turn) ?? sessions.all().at(-1);
  const session = agentSessionId === undefined ? busy : await sessions.whenOpen(agentSessionId);
  const sessionId = session?.record.id ?? agentSessionId ?? "";
  if (method === PERMISSION) {
    const known = session && openTool(session.items, objectOf(objectOf(params).toolCall).toolCallId);
    return agentRequests.permission(sessionId, params, context, known);
  }
  return agentRequests.question(sessionId, params, context, method === REQUEST_QUESTION ? "question" : "form");
}

/** Reports an event of the stream to all sessions. */
export function onStreamEvent({ sessions, agentRequests, outage }: StreamReceivers, event: AcpStreamEvent): void {
  if (event.type === "cut") outage.cut(event.error);
  else if (event.type === "open") outage.opened();
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
      const message = "some of the agent's messages are lost: the server has evicted them";
      sessions.emit(session, { type: "error", code: "gap", message }, { source: "daemon" });
    } else if (event.type === "undelivered") {
      const { message } = event.error;
      sessions.emit(session, { type: "error", code: "undelivered", message }, { source: "client" });
    }
  }
}
