/** Makes journals for tests, in the form in which the server sends them. */

import type { JournalEvent, JournalType } from "./event.ts";
import { newInstance, reduce } from "./instance.ts";
import type { InstanceState, SessionState } from "./types.ts";

export const SESSION = "s1";

/** An event of a journal. Each one happens a millisecond after the previous one. */
export type Line = readonly [type: JournalType, data: unknown];

export const sent = (data: object): Line => ["sent", { jsonrpc: "2.0", ...data }];
export const fromAgent = (data: object): Line => ["message", { jsonrpc: "2.0", ...data }];
export const update = (sessionUpdate: string, more: object): Line =>
  fromAgent({ method: "session/update", params: { sessionId: SESSION, update: { sessionUpdate, ...more } } });
export const chunk = (text: string, messageId = "m1"): Line =>
  update("agent_message_chunk", { content: { type: "text", text }, messageId });
export const prompt = (id: string, text: string): Line =>
  sent({ id, method: "session/prompt", params: { sessionId: SESSION, prompt: [{ type: "text", text }] } });
export const turnEnd = (id: string, stopReason = "end_turn"): Line => fromAgent({ id, result: { stopReason } });
export const permission = (id: unknown): Line =>
  fromAgent({
    id,
    method: "session/request_permission",
    params: {
      sessionId: SESSION,
      toolCall: { toolCallId: "t1", title: "Edit it", kind: "edit" },
      options: [
        { optionId: "yes", name: "Allow once", kind: "allow_once" },
        { optionId: "no", name: "Reject once", kind: "reject_once" },
      ],
    },
  });

export function journalEvents(journal: readonly Line[]): readonly JournalEvent[] {
  return journal.map(([type, data], index) => ({ index, type, number: 1000 + index, atMs: index, data }));
}

/** Computes the state that a journal results in. */
export function replay(...journal: Line[]): InstanceState {
  return journalEvents(journal).reduce(reduce, newInstance("id", "mock"));
}

export function sessionIn(instance: InstanceState): SessionState {
  const session = instance.sessions.get(SESSION);
  if (!session) throw new Error("the journal has no session");
  return session;
}
