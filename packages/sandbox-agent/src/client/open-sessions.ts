/** The sessions that are open on one connection. Converts the agent's notifications to events and settings. */

import { plainText } from "../convert/content.ts";
import {
  AGENT_ERROR,
  AGENT_UNPARSED,
  agentErrorOf,
  type EventOrigin,
  eventOf,
  SESSION_ENDED,
  sessionEndedOf,
  unparsedOf,
} from "../convert/events.ts";
import { applyUpdate, endTurn, type ItemsState, NO_ITEMS, startTurn } from "../convert/items.ts";
import { readMessageMetadata } from "../convert/meta.ts";
import { NO_SETTINGS, type SessionSettings, withMode, withOptions } from "../convert/settings.ts";
import { readTurnUsage } from "../convert/usage.ts";
import type { ContextUsage, EventBody, Item, StopReason } from "../events.ts";
import { compact, objectOf, textOf } from "../json.ts";
import type { StoredSession } from "../store/types.ts";
import { now, randomId } from "./ids.ts";
import type { Recorder } from "./recorder.ts";

/** A running turn. */
export interface Turn {
  readonly id: string;
  /** The items that were completed in this turn. */
  readonly items: Item[];
  /** The usage that the agent has reported in this turn so far. */
  usage?: ContextUsage;
}

/** An open session. */
export interface OpenSession {
  record: StoredSession;
  settings: SessionSettings;
  items: ItemsState;
  turn?: Turn;
  /** Text to send to the agent before the next prompt, because the agent no longer has the conversation. */
  replay?: string;
  /** True while the agent replays events that are already recorded. */
  isReplaying: boolean;
  /** True once the caller has detached; events are still stored. */
  isDetached: boolean;
  /** Functions that are called when the caller detaches. */
  readonly onDetach: Set<() => void>;
}

/** The open sessions of one connection. */
export interface OpenSessions {
  /**
   * Adds a session. Emits its first event, then the notifications that arrived before it was added. `answer` is the
   * agent's response that opened the session.
   */
  add(record: StoredSession, settings: SessionSettings, opened: EventBody | undefined, answer?: unknown): OpenSession;
  /** Removes a session; later notifications for it are dropped. */
  remove(session: OpenSession): void;
  /**
   * Call it before a session is opened, and call the returned function afterwards. In between, a notification of an
   * unknown session may belong to the new session, so it is not taken for one of a session of another client.
   */
  opening(): () => void;
  /** Resolves with the session that has this agent session id, once it is added. */
  whenOpen(agentSessionId: string): Promise<OpenSession>;
  /** Finds a session by its id in this client or, if there is none, by its id at the agent. */
  find(id: string): OpenSession | undefined;
  all(): readonly OpenSession[];
  /** The ids that callers have chosen for sessions that are being opened. */
  readonly reserved: Set<string>;
  /** Passes a notification from the agent to the session that it belongs to. */
  onNotification(method: string, params: unknown): void;
  emit(session: OpenSession, body: EventBody, origin?: EventOrigin): void;
  /**
   * Emits an event for the session with this id. `params` are the parameters of the agent request that the event is
   * made from.
   */
  report(sessionId: string, body: EventBody, params?: unknown): void;
  update(session: OpenSession, changes: Partial<StoredSession>): void;
  /** Completes the open items: no more updates will arrive for them. */
  completeItems(session: OpenSession): void;
  startTurn(session: OpenSession, turn: Turn): void;
  endTurn(session: OpenSession, stopReason: StopReason, origin?: EventOrigin): Turn | undefined;
}

/**
 * The most notifications to buffer for unknown sessions: an agent may send some before it answers `session/new`. The
 * server keeps the same number of an agent's messages.
 */
const MAX_BUFFERED = 65_536;

/**
 * Makes an empty registry.
 *
 * @param adopt - Makes the record of a session that another client has opened on the same agent.
 */
export function createOpenSessions(
  recorder: Recorder,
  adopt: (agentSessionId: string) => Promise<StoredSession>,
): OpenSessions {
  const byId = new Map<string, OpenSession>();
  const byAgentId = new Map<string, OpenSession>();
  const removed = new Set<string>();
  const adopting = new Set<string>();
  /** The sessions that lost notifications because the buffer was full. */
  const overflowed = new Set<string>();
  let buffered: { sessionId: string; method: string; params: unknown }[] = [];
  let openings = 0;
  let waiters: { id: string; resolve: (session: OpenSession) => void }[] = [];

  /** Adds unknown sessions, unless this client is opening one now: another client of the agent has opened them. */
  const adoptUnknown = (): void => {
    if (openings > 0) return;
    const ids = new Set([...buffered.map(({ sessionId }) => sessionId), ...waiters.map(({ id }) => id)]);
    for (const id of ids) {
      if (adopting.has(id)) continue;
      adopting.add(id);
      adopt(id)
        .then((record) => {
          if (!byAgentId.has(id)) add(record, NO_SETTINGS, startedBody(record, "attached"));
        })
        // If the store fails now, the next notification triggers another attempt.
        .catch(() => {})
        .finally(() => adopting.delete(id));
    }
  };

  const emit: OpenSessions["emit"] = (session, body, origin) => {
    if (session.isReplaying) return;
    const base = { id: randomId("event"), sessionId: session.record.id, time: now() };
    const event = eventOf(body, base, origin);
    if (event.type === "item.completed") session.turn?.items.push(event.item);
    if (event.type === "session.updated" && event.usage && session.turn) {
      session.turn.usage = { ...session.turn.usage, ...event.usage };
    }
    if (session.isDetached) recorder.store(event);
    else recorder.emit(event);
  };
  const update: OpenSessions["update"] = (session, changes) => {
    const before = session.record;
    session.record = compact({ ...before, ...changes, updatedAt: now() }) as StoredSession;
    if (before.agentSessionId !== session.record.agentSessionId) {
      byAgentId.delete(before.agentSessionId);
      byAgentId.set(session.record.agentSessionId, session);
    }
    recorder.save(session.record);
  };

  const applySessionUpdate = (session: OpenSession, params: unknown): void => {
    const { update: change } = objectOf(params);
    const step = applyUpdate(session.items, change, readMessageMetadata(params));
    session.items = step.state;
    for (const [index, body] of step.events.entries()) {
      emit(session, body, { message: params, isDerived: index !== step.main });
      if (body.type !== "session.updated") continue;
      if (body.options) session.settings = withOptions(session.settings, body.options);
      if (body.mode !== undefined) session.settings = withMode(session.settings, body.mode);
      const { model, mode } = session.settings;
      // A title that the caller has set is not replaced by the agent's.
      const title = session.record.metadata.title === undefined ? body.title : undefined;
      const changed = compact({ title, model, mode });
      const isNew = Object.entries(changed).some(([key, value]) => session.record[key as "title"] !== value);
      if (isNew && !session.isReplaying) update(session, changed);
    }
  };

  const dispatch = (session: OpenSession, method: string, params: unknown): void => {
    if (method === "session/update") applySessionUpdate(session, params);
    else if (method === SESSION_ENDED) {
      emit(session, sessionEndedOf(params), { message: params });
      update(session, { endedAt: now() });
    } else if (method === AGENT_UNPARSED) emit(session, unparsedOf(params), { message: params });
    else if (method === AGENT_ERROR) emit(session, agentErrorOf(params), { message: params });
  };

  const add: OpenSessions["add"] = (record, settings, opened, answer) => {
    const session: OpenSession = {
      record,
      settings,
      items: NO_ITEMS,
      isReplaying: false,
      isDetached: false,
      onDetach: new Set(),
    };
    byId.set(record.id, session);
    byAgentId.set(record.agentSessionId, session);
    recorder.save(record);
    removed.delete(record.agentSessionId);
    const isMine = (sessionId: string): boolean => sessionId === record.agentSessionId;
    const mine = buffered.filter(({ sessionId }) => isMine(sessionId));
    buffered = buffered.filter(({ sessionId }) => !isMine(sessionId));
    if (opened) emit(session, opened, { source: "client", synthetic: true, message: answer });
    for (const { method, params } of mine) dispatch(session, method, params);
    if (overflowed.delete(record.agentSessionId)) {
      const message = "some messages that arrived before the session was open are lost: the buffer was full";
      emit(session, { type: "error", code: "gap", message }, { source: "client", synthetic: true });
    }
    const ready = waiters.filter(({ id }) => isMine(id));
    waiters = waiters.filter(({ id }) => !isMine(id));
    for (const { resolve } of ready) resolve(session);
    return session;
  };

  const completeItems: OpenSessions["completeItems"] = (session) => {
    const step = endTurn(session.items);
    for (const body of step.events) emit(session, body, { synthetic: true });
    session.items = step.state;
  };

  return {
    reserved: new Set(),
    emit,
    update,
    add,
    completeItems,
    remove(session) {
      byId.delete(session.record.id);
      byAgentId.delete(session.record.agentSessionId);
      removed.add(session.record.agentSessionId);
    },
    opening() {
      openings += 1;
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        openings -= 1;
        adoptUnknown();
      };
    },
    whenOpen: (agentSessionId) =>
      new Promise((resolve) => {
        const session = byAgentId.get(agentSessionId);
        if (session) return resolve(session);
        waiters.push({ id: agentSessionId, resolve });
        adoptUnknown();
      }),
    find: (id) => byId.get(id) ?? byAgentId.get(id),
    all: () => [...byId.values()],
    onNotification(method, params) {
      const sessionId = textOf(objectOf(params).sessionId);
      if (sessionId === undefined) {
        // A notification without a session id concerns all sessions.
        for (const session of byId.values()) dispatch(session, method, params);
        return;
      }
      const session = byAgentId.get(sessionId);
      if (session) dispatch(session, method, params);
      else if (!removed.has(sessionId)) {
        if (buffered.length < MAX_BUFFERED) buffered.push({ sessionId, method, params });
        else overflowed.add(sessionId);
        adoptUnknown();
      }
    },
    report(sessionId, body, params) {
      const session = byId.get(sessionId) ?? byAgentId.get(sessionId);
      const isRequest = body.type.endsWith(".requested");
      if (session) emit(session, body, isRequest ? { message: params } : { source: "client", synthetic: true });
    },
    startTurn(session, turn) {
      // A turn of another client may have left items open: the end of that turn is not reported to this client.
      completeItems(session);
      session.turn = turn;
      session.items = startTurn(session.items, turn.id);
      update(session, { turnId: turn.id });
    },
    endTurn(session, stopReason, origin) {
      const turn = session.turn;
      const turnId = turn?.id ?? session.record.turnId;
      completeItems(session);
      const usage = readTurnUsage(origin?.message, turn?.usage);
      if (turnId !== undefined) emit(session, { type: "turn.ended", turnId, stopReason, ...usage }, origin);
      delete session.turn;
      const { turnId: _, ...rest } = session.record;
      session.record = rest;
      update(session, {});
      return turn;
    },
  };
}

/** The event that opens a session. */
export function startedBody(
  record: StoredSession,
  how: Extract<EventBody, { type: "session.started" }>["how"],
): EventBody {
  return { type: "session.started", agent: record.agent, how };
}

/** Joins the texts of the agent's messages in a turn. */
export function textOfTurn(turn: Turn): string {
  const messages = turn.items.filter(({ kind, role }) => kind === "message" && role === "assistant");
  return messages.map(({ content }) => plainText(content)).join("\n\n");
}
