/** Attaches to the sessions of an agent that was already running when this client connected. */

import { NO_SETTINGS } from "../convert/settings.ts";
import type { Http } from "../http.ts";
import type { StoredSession } from "../store/types.ts";
import { instanceOf, type Link } from "./link.ts";
import { type OpenSessions, startedBody } from "./open-sessions.ts";

const POLL_MS = 250;

/** Adds a stored session to this connection. */
export function attach(sessions: OpenSessions, record: StoredSession): void {
  const { cursor: _, ...rest } = { eventCount: 0, ...record };
  const { eventCount: __, ...kept } = rest;
  sessions.add(kept, NO_SETTINGS, startedBody(kept, "attached"));
}

/**
 * Reports the end of turns that were running when the previous client detached. The agent's responses are addressed to
 * that client, so this client polls the server's list of instances until the agent has no pending requests.
 */
export function watchTurns(http: Http, link: Link): void {
  const open = link.sessions.all().filter((session) => session.record.turnId !== undefined && !session.turn);
  if (open.length === 0) return;
  let isOver = false;
  link.connection.ended.then(() => {
    isOver = true;
  });
  const poll = async (): Promise<void> => {
    const instance = await instanceOf(http, link.info.serverId).catch(() => undefined);
    const received = Number(link.connection.cursor() ?? 0);
    const isDone = instance !== undefined && instance.pendingRequests === 0 && received >= instance.lastEvent;
    if (isOver) return;
    if (!isDone) {
      const timer: { unref?: () => void } | number = setTimeout(poll, POLL_MS);
      if (typeof timer === "object") timer.unref?.();
      return;
    }
    for (const session of open) {
      if (session.record.turnId !== undefined && !session.turn) {
        link.sessions.endTurn(session, "unknown", { synthetic: true, source: "client" });
      }
    }
  };
  void poll();
}
