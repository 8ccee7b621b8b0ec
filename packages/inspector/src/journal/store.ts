/**
 * Everything this page knows, from the one stream of all instances. It only reads: opening the page disturbs nobody.
 * Lines are taken in once a frame, for a few milliseconds, so that a flood of them leaves the page usable.
 */

import { AcpHttpError, type WatchedEvent, watchAcpServers } from "acp-http-client";
import { isObject, objectOf, textOf } from "../json.ts";
import { sentenceOf } from "../server/problem.ts";
import type { Target } from "../server/target.ts";
import { envelopeOf, type JournalEvent, keyOf, kindOf, lineOf } from "./event.ts";
import { newInstance, reduce } from "./instance.ts";
import { createPairs, type Pairs } from "./pairs.ts";
import type { InstanceState, InstanceStatus } from "./types.ts";

/** Whether news arrive. */
export type Link =
  | { readonly state: "connecting" | "live" | "cut" }
  | { readonly state: "over"; readonly reason: string; readonly isRefused: boolean };

/** An instance with its raw lines. `lines` grows in place; `count` tells that it has. */
export interface Watched {
  readonly state: InstanceState;
  readonly lines: readonly JournalEvent[];
  readonly count: number;
  readonly pairs: Pairs;
}

/** What the page knows at one moment. */
export interface Snapshot {
  readonly link: Link;
  readonly instances: ReadonlyMap<string, Watched>;
}

/** The journal of a server. */
export interface JournalStore {
  subscribe(onChange: () => void): () => void;
  snapshot(): Snapshot;
  /** Resolves with the answer to a request that was sent with this id. */
  answerTo(serverId: string, id: string): { readonly answer: Promise<unknown>; forget(): void };
  /** Lets go of an instance that is gone. */
  dismiss(serverId: string): void;
  stop(): void;
}

/** How long a frame may be spent on taking in lines. */
const BUDGET_MS = 10;
/** Frames do not come while the tab is hidden. */
const HIDDEN_MS = 250;

/** Begins to watch. */
export function openJournal({ base, token }: Target): JournalStore {
  const over = new AbortController();
  const listeners = new Set<() => void>();
  const waiting = new Map<string, PromiseWithResolvers<unknown>>();
  const queue: WatchedEvent[] = [];
  let taken = 0;
  let isScheduled = false;
  let current: Snapshot = { link: { state: "connecting" }, instances: new Map() };

  const publish = (next: Partial<Snapshot>): void => {
    current = { ...current, ...next };
    for (const listener of listeners) listener();
  };
  const link = (next: Link): void => {
    if (next.state !== current.link.state) publish({ link: next });
  };

  const schedule = (): void => {
    if (isScheduled || over.signal.aborted) return;
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
    while (taken < queue.length && (taken % 32 !== 0 || performance.now() < until)) {
      const event = queue[taken];
      taken += 1;
      if (event) takeIn(instances, event, waiting);
    }
    if (taken === queue.length) {
      queue.length = 0;
      taken = 0;
    } else schedule();
    publish({ instances });
  };

  const watching = async (): Promise<void> => {
    // The watch connects again on its own and says nothing about it; its requests do.
    const told: typeof fetch = async (input, init) => {
      if (current.link.state !== "connecting") link({ state: "cut" });
      const response = await fetch(input, init);
      if (response.ok) link({ state: "live" });
      return response;
    };
    const events = watchAcpServers(new URL("v1/acp", base), {
      view: "journal",
      token,
      fetch: told,
      signal: over.signal,
      retry: { giveUpMs: Number.POSITIVE_INFINITY },
    });
    for await (const event of events) {
      queue.push(event);
      schedule();
    }
  };
  watching().catch((error: unknown) => {
    const isRefused = error instanceof AcpHttpError && (error.status === 401 || error.status === 403);
    publish({ link: { state: "over", reason: sentenceOf(error), isRefused } });
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
      // Whoever sent the request hears of a failure by itself when nobody waits here.
      promise.promise.catch(() => undefined);
      waiting.set(key, promise);
      return { answer: promise.promise, forget: () => void waiting.delete(key) };
    },
    dismiss(serverId) {
      const instances = new Map(current.instances);
      instances.delete(serverId);
      publish({ instances });
    },
    stop: () => over.abort(),
  };
}

type Waiting = Map<string, PromiseWithResolvers<unknown>>;

function takeIn(instances: Map<string, Watched>, event: WatchedEvent, waiting: Waiting): void {
  if (event.type === "instances") return reconcile(instances, event.data.servers);
  const serverId = event.serverId ?? textOf(objectOf(event.data).serverId);
  if (serverId === undefined) return;
  const known = instances.get(serverId);
  if (event.type === "opened") {
    if (known && known.state.status !== "closed") return;
    instances.set(serverId, fresh(newInstance(serverId, event.data.agent)));
    return;
  }
  if (event.type === "closed") {
    if (known) instances.set(serverId, { ...known, state: { ...known.state, status: "closed", asks: [] } });
    return settleAll(waiting, serverId, "the instance was closed");
  }
  const watched = known ?? fresh(newInstance(serverId, "?"));
  const line = lineOf(event, watched.count);
  if (!line) return;
  (watched.lines as JournalEvent[]).push(line);
  watched.pairs.add(line);
  instances.set(serverId, { ...watched, count: watched.count + 1, state: reduce(watched.state, line) });
  settle(waiting, serverId, line);
}

function fresh(state: InstanceState): Watched {
  return { state, lines: [], count: 0, pairs: createPairs() };
}

/** The list that comes first, and again after every cut: what is not in it any more is gone. */
function reconcile(instances: Map<string, Watched>, servers: readonly Readonly<Record<string, unknown>>[]): void {
  const listed = new Set(servers.map(({ serverId }) => String(serverId)));
  for (const [id, watched] of instances) {
    if (!listed.has(id)) instances.set(id, { ...watched, state: { ...watched.state, status: "closed", asks: [] } });
  }
  for (const { serverId, agent, status, createdAtMs } of servers) {
    const id = String(serverId);
    const known = instances.get(id);
    const watched = known && known.state.status !== "closed" ? known : fresh(newInstance(id, String(agent)));
    const born = typeof createdAtMs === "number" ? createdAtMs : undefined;
    const told = { agent: String(agent), status: status as InstanceStatus, createdAtMs: born };
    instances.set(id, { ...watched, state: { ...watched.state, ...told } });
  }
}

function settle(waiting: Waiting, serverId: string, line: JournalEvent): void {
  if (waiting.size === 0) return;
  if (line.type === "exit") return settleAll(waiting, serverId, "the agent has ended");
  const { id, problem } = objectOf(line.type === "failed" ? line.data : undefined);
  const envelope = line.type === "failed" ? { id, error: problem } : envelopeOf(line);
  if (line.type !== "failed" && (line.type !== "message" || kindOf(envelope) !== "response")) return;
  const key = `${serverId} ${keyOf(envelope.id)}`;
  const waiter = waiting.get(key);
  if (!waiter) return;
  waiting.delete(key);
  if (isObject(envelope.error)) {
    const { message, detail } = envelope.error;
    waiter.reject(new Error(textOf(detail) ?? textOf(message) ?? JSON.stringify(envelope.error)));
  } else waiter.resolve((envelope as { result?: unknown }).result);
}

function settleAll(waiting: Waiting, serverId: string, reason: string): void {
  for (const [key, waiter] of waiting) {
    if (!key.startsWith(`${serverId} `)) continue;
    waiting.delete(key);
    waiter.reject(new Error(reason));
  }
}
