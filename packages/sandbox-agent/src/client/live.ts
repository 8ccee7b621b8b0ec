/** Sessions that are open on one connection: what the agent says about them becomes events and settings. */

import { plainText } from "../convert/content.ts";
import {
  AGENT_ERROR,
  AGENT_UNPARSED,
  agentErrorOf,
  eventOf,
  SESSION_ENDED,
  sessionEndedOf,
  unparsedOf,
} from "../convert/events.ts";
import { applyUpdate, endTurn, type ItemsState, NO_ITEMS, startTurn } from "../convert/items.ts";
import { NO_SETTINGS, type SessionSettings, withMode, withOptions } from "../convert/settings.ts";
import type { EventBase, EventBody, Item, StopReason } from "../events.ts";
import { compact, objectOf, textOf } from "../json.ts";
import type { StoredSession } from "../store/types.ts";
import { now, randomId } from "./ids.ts";
import type { Recorder } from "./recorder.ts";

/** A turn that is on. */
export interface Turn {
  readonly id: string;
  /** What was completed in it. */
  readonly items: Item[];
}

/** An open session. */
export interface Live {
  record: StoredSession;
  settings: SessionSettings;
  items: ItemsState;
  turn?: Turn;
  /** Told to the agent in front of the next prompt, since it has forgotten. */
  replay?: string;
  /** While true, the agent repeats what is known already. */
  isMuted: boolean;
  /** The caller has left; events are still kept. */
  isDetached: boolean;
  /** Called when the caller leaves. */
  readonly onDetach: Set<() => void>;
}

/** Where an event comes from. */
type Origin = { readonly source?: EventBase["source"]; readonly synthetic?: boolean; readonly message?: unknown };

/** The open sessions of one connection. */
export interface LiveSessions {
  /** Opens a session: from here on it is known. Tells that it is, then what came too early. */
  add(record: StoredSession, settings: SessionSettings, opened: EventBody | undefined): Live;
  /** Forgets a session; what the agent still says of it is not heard. */
  remove(live: Live): void;
  /** Until the returned function is called, sessions that are not known may be the one that is being opened. */
  opening(): () => void;
  /** The session with this id of the agent's, once it is known. */
  known(agentSessionId: string): Promise<Live>;
  /** By the caller's id, else by the agent's. */
  find(id: string): Live | undefined;
  all(): readonly Live[];
  /** Names that callers have given to sessions that are being opened. */
  readonly reserved: Set<string>;
  /** Takes a notification of the agent. */
  take(method: string, params: unknown): void;
  emit(live: Live, body: EventBody, origin?: Origin): void;
  /** Tells something to whoever listens, about the caller's id of a session. */
  tell(sessionId: string, body: EventBody): void;
  update(live: Live, changes: Partial<StoredSession>): void;
  /** Completes what is open: nothing more will come of it. */
  completeItems(live: Live): void;
  startTurn(live: Live, turn: Turn): void;
  endTurn(live: Live, stopReason: StopReason, origin?: Origin): Turn | undefined;
}

/** Messages for sessions that are not known yet; agents may speak before they have answered. As many as a server keeps. */
const MAX_EARLY = 65_536;

/**
 * Makes an empty list.
 *
 * @param adopt - Makes a record for a session that somebody else has opened on the same agent.
 */
export function createLiveSessions(
  recorder: Recorder,
  adopt: (agentSessionId: string) => Promise<StoredSession>,
): LiveSessions {
  const byId = new Map<string, Live>();
  const byAgentId = new Map<string, Live>();
  const gone = new Set<string>();
  const adopting = new Set<string>();
  /** Sessions of which more came early than is kept. */
  const overflowed = new Set<string>();
  let early: { sessionId: string; method: string; params: unknown }[] = [];
  let openings = 0;
  let waiting: { id: string; resolve: (live: Live) => void }[] = [];

  /** Sessions that nobody here opens belong to another client of the agent; they are worth hearing, too. */
  const adoptEarly = (): void => {
    if (openings > 0) return;
    const ids = new Set([...early.map(({ sessionId }) => sessionId), ...waiting.map(({ id }) => id)]);
    for (const id of ids) {
      if (adopting.has(id)) continue;
      adopting.add(id);
      adopt(id)
        .then((record) => {
          if (!byAgentId.has(id)) add(record, NO_SETTINGS, startedBody(record, "attached"));
        })
        // A store that fails now may work when the next message comes.
        .catch(() => {})
        .finally(() => adopting.delete(id));
    }
  };

  const emit: LiveSessions["emit"] = (live, body, origin) => {
    if (live.isMuted) return;
    const base = { id: randomId("event"), sessionId: live.record.id, time: now() };
    const event = eventOf(body, base, origin);
    if (event.type === "item.completed") live.turn?.items.push(event.item);
    if (live.isDetached) recorder.keep(event);
    else recorder.emit(event);
  };
  const update: LiveSessions["update"] = (live, changes) => {
    const before = live.record;
    live.record = compact({ ...before, ...changes, updatedAt: now() }) as StoredSession;
    if (before.agentSessionId !== live.record.agentSessionId) {
      byAgentId.delete(before.agentSessionId);
      byAgentId.set(live.record.agentSessionId, live);
    }
    recorder.save(live.record);
  };

  const takeUpdate = (live: Live, params: unknown): void => {
    const { update: change } = objectOf(params);
    const step = applyUpdate(live.items, change);
    live.items = step.state;
    for (const body of step.events) {
      emit(live, body, { message: params });
      if (body.type !== "session.updated") continue;
      if (body.options) live.settings = withOptions(live.settings, body.options);
      if (body.mode !== undefined) live.settings = withMode(live.settings, body.mode);
      const { model, mode } = live.settings;
      // A name that the caller gave is not changed by the agent's own idea.
      const title = live.record.metadata.title === undefined ? body.title : undefined;
      const changed = compact({ title, model, mode });
      const isNew = Object.entries(changed).some(([key, value]) => live.record[key as "title"] !== value);
      if (isNew && !live.isMuted) update(live, changed);
    }
  };

  const takeFor = (live: Live, method: string, params: unknown): void => {
    if (method === "session/update") takeUpdate(live, params);
    else if (method === SESSION_ENDED) {
      emit(live, sessionEndedOf(params), { message: params });
      update(live, { endedAt: now() });
    } else if (method === AGENT_UNPARSED) emit(live, unparsedOf(params), { message: params });
    else if (method === AGENT_ERROR) emit(live, agentErrorOf(params), { message: params });
  };

  const add: LiveSessions["add"] = (record, settings, opened) => {
    const live: Live = {
      record,
      settings,
      items: NO_ITEMS,
      isMuted: false,
      isDetached: false,
      onDetach: new Set(),
    };
    byId.set(record.id, live);
    byAgentId.set(record.agentSessionId, live);
    recorder.save(record);
    gone.delete(record.agentSessionId);
    const isMine = (sessionId: string): boolean => sessionId === record.agentSessionId;
    const mine = early.filter(({ sessionId }) => isMine(sessionId));
    early = early.filter(({ sessionId }) => !isMine(sessionId));
    if (opened) emit(live, opened, { source: "client", synthetic: true });
    for (const { method, params } of mine) takeFor(live, method, params);
    if (overflowed.delete(record.agentSessionId)) {
      const message = "some of what the agent said before the session was open is lost: it was too much to keep";
      emit(live, { type: "error", code: "gap", message }, { source: "client", synthetic: true });
    }
    const waiters = waiting.filter(({ id }) => isMine(id));
    waiting = waiting.filter(({ id }) => !isMine(id));
    for (const { resolve } of waiters) resolve(live);
    return live;
  };

  const completeItems: LiveSessions["completeItems"] = (live) => {
    const step = endTurn(live.items);
    for (const body of step.events) emit(live, body, { synthetic: true });
    live.items = step.state;
  };

  return {
    reserved: new Set(),
    emit,
    update,
    add,
    completeItems,
    remove(live) {
      byId.delete(live.record.id);
      byAgentId.delete(live.record.agentSessionId);
      gone.add(live.record.agentSessionId);
    },
    opening() {
      openings += 1;
      let isOpen = true;
      return () => {
        if (!isOpen) return;
        isOpen = false;
        openings -= 1;
        adoptEarly();
      };
    },
    known: (agentSessionId) =>
      new Promise((resolve) => {
        const live = byAgentId.get(agentSessionId);
        if (live) return resolve(live);
        waiting.push({ id: agentSessionId, resolve });
        adoptEarly();
      }),
    find: (id) => byId.get(id) ?? byAgentId.get(id),
    all: () => [...byId.values()],
    take(method, params) {
      const sessionId = textOf(objectOf(params).sessionId);
      if (sessionId === undefined) {
        // What belongs to no session is told to every one: an agent that cannot be understood concerns them all.
        for (const live of byId.values()) takeFor(live, method, params);
        return;
      }
      const live = byAgentId.get(sessionId);
      if (live) takeFor(live, method, params);
      else if (!gone.has(sessionId)) {
        if (early.length < MAX_EARLY) early.push({ sessionId, method, params });
        else overflowed.add(sessionId);
        adoptEarly();
      }
    },
    tell(sessionId, body) {
      const live = byId.get(sessionId) ?? byAgentId.get(sessionId);
      if (live) emit(live, body, body.type.endsWith(".requested") ? {} : { source: "client", synthetic: true });
    },
    startTurn(live, turn) {
      // Left open by a turn of another client, whose end is not told here.
      completeItems(live);
      live.turn = turn;
      live.items = startTurn(live.items, turn.id);
      update(live, { turnId: turn.id });
    },
    endTurn(live, stopReason, origin) {
      const turn = live.turn;
      const turnId = turn?.id ?? live.record.turnId;
      completeItems(live);
      if (turnId !== undefined) emit(live, { type: "turn.ended", turnId, stopReason }, origin);
      delete live.turn;
      const { turnId: _, ...rest } = live.record;
      live.record = rest;
      update(live, {});
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

/** What the agent said in a turn. */
export function textOfTurn(turn: Turn): string {
  const said = turn.items.filter(({ kind, role }) => kind === "message" && role === "assistant");
  return said.map(({ content }) => plainText(content)).join("\n\n");
}
