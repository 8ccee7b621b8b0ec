/**
 * What one line of the journal does to an instance. Pure: the same lines give the same state, so a page that was
 * reloaded in the middle of a turn knows what the one before it knew.
 */

import type { AcpExit } from "acp-http-client";
import { type JsonObject, objectOf, textOf } from "acp-http-client/internal";
import { withAnswer, withRequest, withWithdrawal } from "./asks.ts";
import { envelopeOf, type JournalEvent, keyOf, kindOf } from "./event.ts";
import { withClientRequest, withResponse } from "./requests.ts";
import { withItem, withSession, withUpdate } from "./session.ts";
import { withTold } from "./terminals.ts";
import type { InstanceState } from "./types.ts";

export function newInstance(serverId: string, agent: string): InstanceState {
  return {
    serverId,
    agent,
    status: "starting",
    createdAtMs: undefined,
    lastAtMs: undefined,
    exit: undefined,
    initialized: undefined,
    sessions: new Map(),
    listed: undefined,
    asks: [],
    pending: new Map(),
    served: new Map(),
    terminals: new Map(),
  };
}

/** Takes in one line. */
export function reduce(instance: InstanceState, line: JournalEvent): InstanceState {
  const createdAtMs = instance.createdAtMs ?? line.atMs;
  const seen: InstanceState = { ...instance, createdAtMs, lastAtMs: line.atMs ?? instance.lastAtMs };
  switch (line.type) {
    case "sent":
      return fromClient(seen, line);
    case "message":
      return fromAgent(seen.status === "running" ? seen : { ...seen, status: "running", exit: undefined }, line);
    case "answered": {
      const { id, event } = objectOf(line.data);
      return withWithdrawal(seen, keyOf(id), typeof event === "number" ? event : undefined);
    }
    case "failed": {
      const { id, problem } = objectOf(line.data);
      const { detail, title } = objectOf(problem);
      const error = { message: textOf(detail) ?? textOf(title) ?? "no answer will come" };
      return withResponse(seen, keyOf(id), { error }, line);
    }
    case "exit":
      return ended(seen, objectOf(line.data), line);
    case "gap":
      return withGap(seen, line);
    case "unparsed":
      return seen;
  }
}

function fromClient(instance: InstanceState, line: JournalEvent): InstanceState {
  const envelope = envelopeOf(line);
  switch (kindOf(envelope)) {
    case "request":
      return withClientRequest(instance, envelope, line);
    case "response":
      return withAnswer(instance, envelope, line);
    case "notification":
    case "other":
      return instance;
  }
}

function fromAgent(instance: InstanceState, line: JournalEvent): InstanceState {
  const envelope = envelopeOf(line);
  const params = objectOf(envelope.params);
  switch (kindOf(envelope)) {
    case "request":
      return withRequest(instance, envelope, line);
    case "response":
      return withResponse(instance, keyOf(envelope.id), envelope, line);
    case "notification":
      if (envelope.method === "$/cancel_request") return withWithdrawal(instance, keyOf(params.requestId), undefined);
      return envelope.method === "session/update" ? updated(instance, params, line) : instance;
    case "other":
      return instance;
  }
}

function updated(instance: InstanceState, params: JsonObject, line: JournalEvent): InstanceState {
  const sessionId = textOf(params.sessionId);
  if (sessionId === undefined) return instance;
  const update = objectOf(params.update);
  const told = withTold(instance, update);
  return withSession(told, sessionId, (session) => withUpdate(session, update, `n${line.index}`));
}

/** Which session the lost lines were of is not known, so that each is told. */
function withGap(instance: InstanceState, line: JournalEvent): InstanceState {
  const text = "Some of what happened here is missing: the server does not hold it any more.";
  const sessions = new Map(
    [...instance.sessions].map(([id, session]) => [
      id,
      withItem(session, { type: "notice", key: `n${line.index}`, tone: "bad", text }),
    ]),
  );
  return { ...instance, sessions };
}

/** The end settles everything that was open. */
function ended(instance: InstanceState, exit: AcpExit, line: JournalEvent): InstanceState {
  const sessions = new Map(
    [...instance.sessions].map(([id, session]) => {
      if (session.turns.length === 0) return [id, session];
      const text = `The agent has ended (${exitText(exit)}) in the middle of this turn.`;
      return [id, withItem({ ...session, turns: [] }, { type: "notice", key: `n${line.index}`, tone: "bad", text })];
    }),
  );
  return { ...instance, status: "exited", exit, sessions, asks: [], pending: new Map(), served: new Map() };
}

/** How a process ended, in a few words. */
export function exitText({ code, signal, error, problem }: AcpExit): string {
  return textOf(problem?.detail) ?? error ?? signal ?? (code === undefined ? "unknown" : `code ${code}`);
}
