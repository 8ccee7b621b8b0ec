/** Requests of the agent: which wait for a person, and what became of them. Pure. */

import { isObject, type JsonObject, listOf, objectOf, textOf } from "acp-http-client/internal";
import { type JournalEvent, keyOf } from "./event.ts";
import { withItem, withSession, withTool } from "./session.ts";
import { withServed } from "./terminals.ts";
import type { Ask, InstanceState, NoticeItem, PendingRequest } from "./types.ts";

/** Requests that a program answers for the agent. They are no questions to a person. */
const SERVED = /^(fs|terminal)\//;

/** The agent asks. */
export function withRequest(instance: InstanceState, envelope: JsonObject, line: JournalEvent): InstanceState {
  const method = textOf(envelope.method) ?? "";
  const params = objectOf(envelope.params);
  const key = keyOf(envelope.id);
  if (SERVED.test(method)) {
    const request: PendingRequest = { method, params, atMs: line.atMs };
    return { ...instance, served: new Map(instance.served).set(key, request) };
  }
  const sessionId = textOf(params.sessionId);
  const ask: Ask = { id: envelope.id, key, event: line.event, method, params, sessionId, atMs: line.atMs };
  const asks = [...instance.asks.filter((other) => other.key !== key), ask];
  const asked = { ...instance, asks };
  const toolCall = params.toolCall;
  if (sessionId === undefined || !isObject(toolCall)) return asked;
  return withSession(asked, sessionId, (session) => withTool(session, toolCall, `n${line.index}`));
}

/** Somebody answered, or the agent takes its request back. */
export function withWithdrawal(instance: InstanceState, key: string, event: number | undefined): InstanceState {
  const stays = (ask: Ask): boolean =>
    ask.key !== key || (event !== undefined && ask.event !== undefined && ask.event !== event);
  if (instance.asks.every(stays)) return instance;
  return { ...instance, asks: instance.asks.filter(stays) };
}

/** A client's answer to the agent. */
export function withAnswer(instance: InstanceState, envelope: JsonObject, line: JournalEvent): InstanceState {
  const key = keyOf(envelope.id);
  const request = instance.served.get(key);
  if (request) {
    const served = new Map(instance.served);
    served.delete(key);
    return withServed({ ...instance, served }, request, objectOf(envelope.result));
  }
  const ask = instance.asks.find((open) => open.key === key);
  if (!ask) return instance;
  const settled = withWithdrawal(instance, key, undefined);
  const told = outcomeOf(ask, envelope);
  if (ask.sessionId === undefined || !told) return settled;
  return withSession(settled, ask.sessionId, (session) =>
    withItem(session, { type: "notice", key: `n${line.index}`, ...told }),
  );
}

/** What to say about an answer that was given. */
export function outcomeOf(ask: Ask, envelope: JsonObject): Pick<NoticeItem, "tone" | "text"> | undefined {
  const result = objectOf(envelope.result);
  if (envelope.error !== undefined) return { tone: "bad", text: `${ask.method} was declined.` };
  if (ask.method === "session/request_permission") {
    const { outcome, optionId } = objectOf(result.outcome);
    const options = listOf(ask.params.options).map(objectOf);
    const chosen = options.find((option) => option.optionId === optionId);
    const what = textOf(objectOf(ask.params.toolCall).title) ?? "Permission";
    const isAllowed = textOf(chosen?.kind)?.startsWith("allow") ?? false;
    const how = outcome === "selected" ? (textOf(chosen?.name) ?? textOf(optionId) ?? "selected") : "cancelled";
    return { tone: isAllowed ? "good" : "bad", text: `${what}: ${how}` };
  }
  const { status, answers, action } = result;
  if (status === "answered") {
    const given = listOf(answers).flatMap(listOf).map(String).join(", ");
    return { tone: "good", text: `${textOf(ask.params.prompt) ?? "Question"} ${given}` };
  }
  if (status === "rejected") return { tone: "bad", text: `${textOf(ask.params.prompt) ?? "Question"} Not answered.` };
  if (typeof action === "string") {
    const tone = action === "accept" ? "good" : "bad";
    const said = action === "accept" ? "Filled in." : "Declined.";
    return { tone, text: `${textOf(ask.params.message) ?? "Form"} ${said}` };
  }
  return undefined;
}
