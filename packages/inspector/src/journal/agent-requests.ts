/** Applies agent requests, and the answers to them, to the state of an instance. */

import { isObject, type JsonObject, listOf, objectOf, textOf } from "acp-http-client/internal";
import { type JournalEvent, keyOf, stampOf } from "./event.ts";
import { withItem, withSession, withTool } from "./session.ts";
import { withTerminalAnswer } from "./terminals.ts";
import type { AgentRequest, InstanceState, NoticeItem, PendingRequest } from "./types.ts";

/** Methods that a client program answers by itself. These requests are not shown to the user. */
const PROGRAM_METHODS = /^(fs|terminal)\//;

/** Applies an agent request. */
export function withRequest(instance: InstanceState, envelope: JsonObject, event: JournalEvent): InstanceState {
  const method = textOf(envelope.method) ?? "";
  const params = objectOf(envelope.params);
  const key = keyOf(envelope.id);
  if (PROGRAM_METHODS.test(method)) {
    const request: PendingRequest = { method, params, atMs: event.atMs };
    return { ...instance, programRequests: new Map(instance.programRequests).set(key, request) };
  }
  const sessionId = textOf(params.sessionId);
  const request: AgentRequest = {
    id: envelope.id,
    key,
    event: event.number,
    method,
    params,
    sessionId,
    atMs: event.atMs,
  };
  const agentRequests = [...instance.agentRequests.filter((other) => other.key !== key), request];
  const added = { ...instance, agentRequests };
  const toolCall = params.toolCall;
  if (sessionId === undefined || !isObject(toolCall)) return added;
  return withSession(added, sessionId, (session) => withTool(session, toolCall, stampOf(event)));
}

/** Removes an agent request that is no longer open: a client answered it, or the agent cancelled it. */
export function withWithdrawal(instance: InstanceState, key: string, event: number | undefined): InstanceState {
  const stays = (request: AgentRequest): boolean =>
    request.key !== key || (event !== undefined && request.event !== undefined && request.event !== event);
  if (instance.agentRequests.every(stays)) return instance;
  return { ...instance, agentRequests: instance.agentRequests.filter(stays) };
}

/** Applies a client's answer to an agent request. */
export function withAnswer(instance: InstanceState, envelope: JsonObject, event: JournalEvent): InstanceState {
  const key = keyOf(envelope.id);
  const programRequest = instance.programRequests.get(key);
  if (programRequest) {
    const programRequests = new Map(instance.programRequests);
    programRequests.delete(key);
    return withTerminalAnswer({ ...instance, programRequests }, programRequest, objectOf(envelope.result));
  }
  const request = instance.agentRequests.find((open) => open.key === key);
  if (!request) return instance;
  const settled = withWithdrawal(instance, key, undefined);
  const outcome = outcomeOf(request, envelope);
  if (request.sessionId === undefined || !outcome) return settled;
  return withSession(settled, request.sessionId, (session) =>
    withItem(session, { type: "notice", key: `n${event.index}`, ...outcome }),
  );
}

/** Makes the notice that the conversation shows for an answer. */
export function outcomeOf(request: AgentRequest, envelope: JsonObject): Pick<NoticeItem, "tone" | "text"> | undefined {
  const result = objectOf(envelope.result);
  if (envelope.error !== undefined) return { tone: "bad", text: `${request.method} was declined.` };
  if (request.method === "session/request_permission") {
    const { outcome, optionId } = objectOf(result.outcome);
    const options = listOf(request.params.options).map(objectOf);
    const chosen = options.find((option) => option.optionId === optionId);
    const what = textOf(objectOf(request.params.toolCall).title) ?? "Permission";
    const isAllowed = textOf(chosen?.kind)?.startsWith("allow") ?? false;
    const how = outcome === "selected" ? (textOf(chosen?.name) ?? textOf(optionId) ?? "selected") : "cancelled";
    return { tone: isAllowed ? "good" : "bad", text: `${what}: ${how}` };
  }
  const { status, answers, action } = result;
  if (status === "answered") {
    const given = listOf(answers).flatMap(listOf).map(String).join(", ");
    return { tone: "good", text: `${textOf(request.params.prompt) ?? "Question"} ${given}` };
  }
  if (status === "rejected")
    return { tone: "bad", text: `${textOf(request.params.prompt) ?? "Question"} Not answered.` };
  if (typeof action === "string") {
    const tone = action === "accept" ? "good" : "bad";
    const outcome = action === "accept" ? "Submitted." : "Declined.";
    return { tone, text: `${textOf(request.params.message) ?? "Form"} ${outcome}` };
  }
  return undefined;
}
