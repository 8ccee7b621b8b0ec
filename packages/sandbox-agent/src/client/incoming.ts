/** What comes from the agent and its connection beside notifications: what it asks, and what happens to it. */

import type { AcpStreamEvent } from "acp-http-client";
import { processEnded, unparsedLine } from "../convert/events.ts";
import { REQUEST_QUESTION } from "../convert/questions.ts";
import { objectOf, textOf } from "../json.ts";
import type { Asked, Asks } from "./asks.ts";
import { answerHost, type HostOptions } from "./host.ts";
import { now } from "./ids.ts";
import type { LiveSessions } from "./live.ts";

const PERMISSION = "session/request_permission";
const FORM = "elicitation/create";

/** Who hears. */
export interface Hearers {
  readonly sessions: LiveSessions;
  readonly asks: Asks;
}

/** Answers a request of the agent. */
export async function answerAgent(
  { sessions, asks, host }: Hearers & { readonly host: HostOptions },
  method: string,
  params: unknown,
  asked: Asked,
): Promise<unknown> {
  if (![PERMISSION, REQUEST_QUESTION, FORM].includes(method)) return answerHost(method, params, host);
  const agentSessionId = textOf(objectOf(params).sessionId);
  // A form may belong to a request and to no session; it is then asked in the session that is busy.
  const busy = sessions.all().find((live) => live.turn) ?? sessions.all().at(-1);
  const live = agentSessionId === undefined ? busy : await sessions.known(agentSessionId);
  const sessionId = live?.record.id ?? agentSessionId ?? "";
  if (method === PERMISSION) return asks.permission(sessionId, params, asked);
  return asks.question(sessionId, params, asked, method === REQUEST_QUESTION ? "question" : "form");
}

/** Takes what happened beside the messages, and tells the sessions that it concerns: all of them. */
export function hearEvent({ sessions, asks }: Hearers, event: AcpStreamEvent): void {
  if (event.type === "answered") {
    asks.answeredElsewhere(event.id);
    asks.answeredElsewhere(`${event.id}@${event.event}`);
    return;
  }
  for (const live of sessions.all()) {
    if (event.type === "unparsed") sessions.emit(live, unparsedLine(event));
    else if (event.type === "exit") {
      if (live.record.endedAt === undefined) sessions.emit(live, processEnded(event.exit), { source: "daemon" });
      sessions.update(live, { endedAt: now() });
    } else if (event.type === "gap") {
      const message = "some of what the agent said is lost: it was more than the server keeps";
      sessions.emit(live, { type: "error", code: "gap", message }, { source: "daemon" });
    } else if (event.type === "undelivered") {
      const { message } = event.error;
      sessions.emit(live, { type: "error", code: "undelivered", message }, { source: "client" });
    }
  }
}
