/**
 * The state of the page, made from the event stream of all instances. Sends nothing to agents, so opening the page does
 * not disturb them. Events are applied for a few milliseconds in each frame, so that the page stays usable when very
 * many arrive.
 */

import { AcpHttpError, type WatchedEvent, watchAcpServers } from "acp-http-client";
import { numberOf, objectOf } from "acp-http-client/internal";
import { createHttp, errorMessage } from "../server/http.ts";
import type { Target } from "../server/target.ts";
import { applyEvent, type MISSING, type PendingAnswers, type WatchedInstance } from "./apply-event.ts";
import { keyOf } from "./event.ts";
import { isRestarted, type UptimeSample } from "./restart.ts";

/** The state of the event stream. */
export type ConnectionState =
  | { readonly state: "connecting" | "live" | "reconnecting" }
  | { readonly state: "disconnected"; readonly reason: string; readonly isRefused: boolean };

/** The state of the page at one moment. */
export interface Snapshot {
  readonly connection: ConnectionState;
  readonly instances: ReadonlyMap<string, WatchedInstance>;
}

/** The journals of all instances of a server. */
export interface JournalStore {
  subscribe(onChange: () => void): () => void;
  snapshot(): Snapshot;
  /** Waits for the response to the request with this id. Call `forget` if the request could not be sent. */
  answerTo(serverId: string, id: string): { readonly answer: Promise<unknown>; forget(): void };
  /** Keeps the conversations of a closed instance on the page when it is started again. */
  keep(serverId: string): void;
  /** Removes a closed instance. */
  dismiss(serverId: string): void;
  stop(): void;
}

/** How much of a frame may be spent on applying events. */
const BUDGET_MS = 10;
/** How often events are applied while the tab is hidden, when animation frames do not run. */
const HIDDEN_MS = 250;

/** Starts to watch a server. */
export function openJournal(target: Target): JournalStore {
  const { base, token } = target;
  const stopping = new AbortController();
  const listeners = new Set<() => void>();
  const waiting: PendingAnswers = new Map();
  const queue: WatchedEvent[] = [];
  /** How many events of the queue have been applied. */
  let applied = 0;
  let isScheduled = false;
  let uptime: UptimeSample | undefined;
  let missing: keyof typeof MISSING = "unknown";
  let current: Snapshot = { connection: { state: "connecting" }, instances: new Map() };

  const publish = (next: Partial<Snapshot>): void => {
    current = { ...current, ...next };
    for (const listener of listeners) listener();
  };
  const setConnection = (next: ConnectionState): void => {
    if (next.state !== current.connection.state) publish({ connection: next });
  };

  const schedule = (): void => {
    if (isScheduled || stopping.signal.aborted) return;
    isScheduled = true;
    let isDone = false;
    const once = (): void => {
      if (isDone) return;
      isDone = true;
      isScheduled = false;
      drain();
    };
    requestAnimationFrame(once);
    setTimeout(once, HIDDEN_MS);
  };

  const drain = (): void => {
    const instances = new Map(current.instances);
    const until = performance.now() + BUDGET_MS;
    while (applied < queue.length && (applied % 32 !== 0 || performance.now() < until)) {
      const event = queue[applied];
      applied += 1;
      if (event) applyEvent(instances, event, waiting, missing);
    }
    if (applied === queue.length) {
      queue.length = 0;
      applied = 0;
    } else schedule();
    publish({ instances });
  };

  const http = createHttp(target);
  /** Finds out whether the server was restarted since the last connection. */
  const compareUptime = async (): Promise<void> => {
    const askedAtMs = performance.now();
    const health: unknown = await http("v1/health").then((response) => response.json());
    const now = { uptimeMs: numberOf(objectOf(health).uptimeMs) ?? 0, askedAtMs, answeredAtMs: performance.now() };
    if (uptime) missing = isRestarted(uptime, now) ? "restarted" : "closed";
    uptime = now;
  };

  const watching = async (): Promise<void> => {
    // `watchAcpServers` does not report when it reconnects. Its requests show the state of the connection.
    const observedFetch: typeof fetch = async (input, init) => {
      if (current.connection.state !== "connecting") setConnection({ state: "reconnecting" });
      const response = await fetch(input, init);
      if (!response.ok) return response;
      missing = "unknown";
      const isReconnect = uptime !== undefined;
      const compared = compareUptime().catch(() => undefined);
      // After a reconnect, the next event is the list of instances. It may lack known instances: find out why before.
      if (isReconnect) await compared;
      setConnection({ state: "live" });
      return response;
    };
    const events = watchAcpServers(new URL("v1/acp", base), {
      view: "journal",
      token,
      fetch: observedFetch,
      signal: stopping.signal,
      retry: { giveUpMs: Number.POSITIVE_INFINITY },
    });
    for await (const event of events) {
      queue.push(event);
      schedule();
    }
  };
  watching().catch((error: unknown) => {
    const isRefused = error instanceof AcpHttpError && (error.status === 401 || error.status === 403);
    publish({ connection: { state: "disconnected", reason: errorMessage(error), isRefused } });
  });

  return {
    subscribe(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
    snapshot: () => current,
    answerTo(serverId, id) {
      const key = `${serverId} ${keyOf(id)}`;
      const promise = Promise.withResolvers<unknown>();
      // The caller handles a failure. If it no longer waits, the failure must not be reported as unhandled.
      promise.promise.catch(() => undefined);
      waiting.set(key, promise);
      return { answer: promise.promise, forget: () => void waiting.delete(key) };
    },
    keep(serverId) {
      const watched = current.instances.get(serverId);
      if (watched) publish({ instances: new Map(current.instances).set(serverId, { ...watched, isKept: true }) });
    },
    dismiss(serverId) {
      const instances = new Map(current.instances);
      instances.delete(serverId);
      publish({ instances });
    },
    stop: () => stopping.abort(),
  };
}
