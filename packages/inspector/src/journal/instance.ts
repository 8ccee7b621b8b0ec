/**
 * Computes the state of an instance from its journal. The same journal always gives the same state, so nothing is lost
 * when the page is reloaded during a turn.
 */

import type { AcpExit } from "acp-http-client";
import { type JsonObject, objectOf, textOf } from "acp-http-client/internal";
import { withAnswer, withRequest, withWithdrawal } from "./agent-requests.ts";
import { withClientRequest, withResponse } from "./client-requests.ts";
import { envelopeOf, type JournalEvent, keyOf, kindOf, stampOf } from "./event.ts";
import { withItem, withSession, withTurnsEnded, withUpdate } from "./session.ts";
import { withAgentTerminal } from "./terminals.ts";
import type { InstanceState, Stamp } from "./types.ts";

export function newInstance(serverId: string, agent: string): InstanceState {
  return {
    serverId,
    agent,
    status: "starting",
    createdAtMs: undefined,
    lastAtMs: undefined,
    exit: undefined,
    closedBecause: undefined,
    initialized: undefined,
    sessions: new Map(),
    listed: undefined,
    agentRequests: [],
    pending: new Map(),
    programRequests: new Map(),
    terminals: new Map(),
  };
}

/** Applies one event to the state. */
export function reduce(instance: InstanceState, event: JournalEvent): InstanceState {
  const createdAtMs = instance.createdAtMs ?? event.atMs;
  const seen: InstanceState = { ...instance, createdAtMs, lastAtMs: event.atMs ?? instance.lastAtMs };
  switch (event.type) {
    case "sent":
      return fromClient(seen, event);
    case "message":
      return fromAgent(seen.status === "running" ? seen : { ...seen, status: "running", exit: undefined }, event);
    case "answered": {
      const { id, event: number } = objectOf(event.data);
      return withWithdrawal(seen, keyOf(id), typeof number === "number" ? number : undefined);
    }
    case "failed": {
      const { id, problem } = objectOf(event.data);
      const { detail, title } = objectOf(problem);
      const error = { message: textOf(detail) ?? textOf(title) ?? "the request will not be answered" };
      return withResponse(seen, keyOf(id), { error }, event);
    }
    case "exit":
      return ended(seen, objectOf(event.data), event);
    case "gap":
      return withGap(seen, event);
    case "unparsed":
      return seen;
  }
}

function fromClient(instance: InstanceState, event: JournalEvent): InstanceState {
  const envelope = envelopeOf(event);
  switch (kindOf(envelope)) {
    case "request":
      return withClientRequest(instance, envelope, event);
    case "response":
      return withAnswer(instance, envelope, event);
    case "notification":
    case "other":
      return instance;
  }
}

function fromAgent(instance: InstanceState, event: JournalEvent): InstanceState {
  const envelope = envelopeOf(event);
  const params = objectOf(envelope.params);
  switch (kindOf(envelope)) {
    case "request":
      return withRequest(instance, envelope, event);
    case "response":
      return withResponse(instance, keyOf(envelope.id), envelope, event);
    case "notification":
      if (envelope.method === "$/cancel_request") return withWithdrawal(instance, keyOf(params.requestId), undefined);
      return envelope.method === "session/update" ? updated(instance, params, event) : instance;
    case "other":
      return instance;
  }
}

function updated(instance: InstanceState, params: JsonObject, event: JournalEvent): InstanceState {
  const sessionId = textOf(params.sessionId);
  if (sessionId === undefined) return instance;
  const update = objectOf(params.update);
  const next = withAgentTerminal(instance, update);
  return withSession(next, sessionId, (session) => withUpdate(session, update, stampOf(event)));
}

/** Adds a notice to every session: it is unknown which session the lost events belong to. */
function withGap(instance: InstanceState, event: JournalEvent): InstanceState {
  const text = "Some events are missing: the server has evicted them.";
  const sessions = new Map(
    [...instance.sessions].map(([id, session]) => [
      id,
      withItem(session, { type: "notice", key: `n${event.index}`, tone: "bad", text }),
    ]),
  );
  return { ...instance, sessions };
}

function ended(instance: InstanceState, exit: AcpExit, event: JournalEvent): InstanceState {
  const text = `The agent exited (${exitText(exit)}) during this turn.`;
  return { ...withAllSettled(instance, text, stampOf(event)), status: "exited", exit };
}

/** Marks an instance as closed: the server has reported that, or no longer lists the instance. */
export function closed(instance: InstanceState, because: string): InstanceState {
  if (instance.status === "closed") return instance;
  const settled = withAllSettled(instance, because, { key: `closed ${instance.lastAtMs}`, atMs: undefined });
  return { ...settled, status: "closed", closedBecause: because };
}

/** Makes the state of an instance that was closed and is started again. Its conversations stay on the page. */
export function startedAgain(instance: InstanceState, agent: string): InstanceState {
  const { sessions, terminals } = instance;
  return { ...newInstance(instance.serverId, agent), sessions, terminals };
}

/** Ends everything that waits for the process. Sessions with a running turn get a notice. */
function withAllSettled(instance: InstanceState, text: string, { key, atMs }: Stamp): InstanceState {
  const sessions = new Map(
    [...instance.sessions].map(([id, session]) => {
      if (session.turns.length === 0) return [id, session];
      const ended = withTurnsEnded(session, () => true, atMs);
      return [id, withItem(ended, { type: "notice", key, tone: "bad", text })];
    }),
  );
  return { ...instance, sessions, agentRequests: [], pending: new Map(), programRequests: new Map() };
}

/** Describes in a few words how a process exited. */
export function exitText({ code, signal, error, problem }: AcpExit): string {
  if (error === "server_died") return "the server was restarted";
  return textOf(problem?.detail) ?? error ?? signal ?? (code === undefined ? "unknown" : `code ${code}`);
}
