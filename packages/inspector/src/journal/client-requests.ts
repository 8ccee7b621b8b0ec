/** Applies client requests, from this page or any other client, and their responses to the state of an instance. */

import { isObject, type JsonObject, listOf, objectOf, textOf } from "acp-http-client/internal";
import { errorText, type JournalEvent, keyOf, stampOf } from "./event.ts";
import {
  promptMessageId,
  withItem,
  withMode,
  withOption,
  withSession,
  withSettings,
  withTurnsEnded,
} from "./session.ts";
import type { ContentBlock, InstanceState, PendingRequest, SessionState, Turn } from "./types.ts";

/** Applies a client request. */
export function withClientRequest(instance: InstanceState, envelope: JsonObject, event: JournalEvent): InstanceState {
  const method = textOf(envelope.method) ?? "";
  const params = objectOf(envelope.params);
  const key = keyOf(envelope.id);
  const added = {
    ...instance,
    pending: new Map(instance.pending).set(key, { method, params, atMs: event.atMs }),
  };
  const sessionId = textOf(params.sessionId);
  if (sessionId === undefined) return added;
  if (method === "session/prompt") {
    return withSession(added, sessionId, (session) => prompted(session, key, params, event));
  }
  if (method === "session/load") {
    // The agent will send the whole conversation again.
    return withSession(added, sessionId, (session) => ({ ...session, before: session.items, items: [] }));
  }
  return added;
}

function prompted(session: SessionState, requestKey: string, params: JsonObject, event: JournalEvent): SessionState {
  const blocks = listOf(params.prompt).filter(isObject) as ContentBlock[];
  const promptText = blocks.map((block) => textOf(block.text) ?? "").join("\n");
  const turn = { requestKey, promptText, startedAtMs: event.atMs };
  const withMessage = withItem(session, {
    type: "user",
    ...stampOf(event),
    messageId: promptMessageId(requestKey),
    blocks,
  });
  return { ...withMessage, turns: [...session.turns, turn], isClosed: false };
}

/** Applies a response from the agent, or the server's report that there will be none. */
export function withResponse(
  instance: InstanceState,
  key: string,
  answer: JsonObject,
  event: JournalEvent,
): InstanceState {
  const request = instance.pending.get(key);
  if (!request) return instance;
  const pending = new Map(instance.pending);
  pending.delete(key);
  const settled = { ...instance, pending };
  const error = isObject(answer.error) ? answer.error : undefined;
  const sessionId = textOf(request.params.sessionId) ?? textOf(objectOf(answer.result).sessionId);
  if (error) {
    if (sessionId === undefined) return settled;
    return withSession(settled, sessionId, (session) => refused(session, request, key, error, event));
  }
  return succeeded(settled, request, key, objectOf(answer.result), sessionId, event);
}

function refused(
  session: SessionState,
  request: PendingRequest,
  key: string,
  error: JsonObject,
  event: JournalEvent,
): SessionState {
  const text = `${request.method} failed: ${errorText(error)}`;
  const items = request.method === "session/load" && session.before ? session.before : session.items;
  const open = withTurnsEnded({ ...session, items, before: undefined }, isTurnOf(key), event.atMs);
  return withItem(open, { type: "notice", key: `n${event.index}`, tone: "bad", text });
}

function succeeded(
  instance: InstanceState,
  { method, params }: PendingRequest,
  key: string,
  result: JsonObject,
  sessionId: string | undefined,
  event: JournalEvent,
): InstanceState {
  if (method === "initialize") return { ...instance, initialized: result };
  if (method === "session/list") return { ...instance, listed: listedAfter(instance, params, result) };
  if (sessionId === undefined) return instance;
  const change = (session: SessionState): SessionState => {
    switch (method) {
      case "session/new":
      case "session/load":
      case "session/resume":
      case "session/fork":
        return { ...withSettings(session, result), cwd: textOf(params.cwd), before: undefined, isClosed: false };
      case "session/set_mode":
        return withMode(session, params.modeId);
      case "session/set_config_option":
        return withSettings(withOption(session, params.configId, params.value), result);
      case "session/prompt":
        return turnEnded(session, key, result, event);
      case "session/close":
      case "session/delete":
        return { ...session, isClosed: true };
      default:
        return session;
    }
  };
  // A request to fork names the session that was forked; the id of the new session is in the response.
  const target = method === "session/fork" ? (textOf(result.sessionId) ?? sessionId) : sessionId;
  return withSession(instance, target, change);
}

/** Appends a page to the list of sessions; the first page replaces the list. */
function listedAfter(instance: InstanceState, params: JsonObject, result: JsonObject): readonly JsonObject[] {
  const page = listOf(result.sessions).filter(isObject);
  return params.cursor === undefined || params.cursor === null ? page : [...(instance.listed ?? []), ...page];
}

function isTurnOf(key: string): (turn: Turn) => boolean {
  return ({ requestKey }) => requestKey === key;
}

const STOPS: Readonly<Record<string, string>> = {
  cancelled: "Cancelled.",
  refusal: "The agent refused to continue.",
  max_tokens: "Stopped at the token limit.",
  max_turn_requests: "Stopped at the request limit of a turn.",
};

function turnEnded(session: SessionState, key: string, result: JsonObject, event: JournalEvent): SessionState {
  const open = withTurnsEnded(session, isTurnOf(key), event.atMs);
  const reason = textOf(result.stopReason) ?? "end_turn";
  if (reason === "end_turn") return open;
  const tone = reason === "cancelled" ? "info" : "bad";
  return withItem(open, { type: "notice", key: `n${event.index}`, tone, text: STOPS[reason] ?? `Stopped: ${reason}.` });
}
