/** Applies an event of the stream of all instances to the page's state. */

import type { WatchedEvent } from "acp-http-client";
import { isObject, objectOf, textOf } from "acp-http-client/internal";
import { envelopeOf, errorText, type JournalEvent, journalEventOf, keyOf, kindOf } from "./event.ts";
import { closed, exitText, newInstance, reduce, startedAgain } from "./instance.ts";
import { createPairs, type Pairs } from "./pairs.ts";
import type { InstanceState, InstanceStatus } from "./types.ts";

/** An instance with its journal. `events` is one array that grows, so its length is repeated in `count`. */
export interface WatchedInstance {
  readonly state: InstanceState;
  readonly events: readonly JournalEvent[];
  readonly count: number;
  readonly pairs: Pairs;
  /** True if the page keeps the conversations when the instance is started again. */
  readonly isKept: boolean;
}

/** The possible reasons why the server's list lacks an instance that the page knows. */
export const MISSING = {
  restarted: "The server was restarted, and the agent ended with it.",
  closed: "The instance was closed while this page was not connected.",
  unknown: "The server no longer has this instance: it was closed, or the server was restarted.",
} as const;

/** The requests from this page that await an answer, by instance and id. */
export type PendingAnswers = Map<string, PromiseWithResolvers<unknown>>;

/**
 * Applies one event of the stream. Changes the two maps and nothing else. `missing` is the reason to show for instances
 * that the server's list lacks.
 */
export function applyEvent(
  instances: Map<string, WatchedInstance>,
  event: WatchedEvent,
  pending: PendingAnswers,
  missing: keyof typeof MISSING = "unknown",
): void {
  if (event.type === "instances") {
    reconcile(instances, event.data.servers, pending, MISSING[missing]);
    return;
  }
  const serverId = event.serverId ?? textOf(objectOf(event.data).serverId);
  if (serverId === undefined) return;
  const known = instances.get(serverId);
  if (event.type === "opened") {
    // The list and a first `opened` event report the same instance. A later `opened` event means that another instance
    // has the id.
    if (known && known.state.status !== "closed" && known.count === 0) return;
    instances.set(serverId, reopened(known, serverId, event.data.agent));
    return;
  }
  if (event.type === "closed") {
    if (known) close(instances, known, pending, "The instance was closed.");
    else settleAll(pending, serverId, "The instance was closed.");
    return;
  }
  const watched = known ?? fresh(newInstance(serverId, "?"));
  const journalEvent = journalEventOf(event, watched.count);
  if (!journalEvent) return;
  (watched.events as JournalEvent[]).push(journalEvent);
  watched.pairs.add(journalEvent);
  instances.set(serverId, { ...watched, count: watched.count + 1, state: reduce(watched.state, journalEvent) });
  settle(pending, serverId, journalEvent);
}

function fresh(state: InstanceState): WatchedInstance {
  return { state, events: [], count: 0, pairs: createPairs(), isKept: false };
}

function reopened(known: WatchedInstance | undefined, serverId: string, agent: string): WatchedInstance {
  if (!known?.isKept) return fresh(newInstance(serverId, agent));
  return { ...known, state: startedAgain(known.state, agent), isKept: false };
}

function close(
  instances: Map<string, WatchedInstance>,
  watched: WatchedInstance,
  pending: PendingAnswers,
  because: string,
): void {
  const { serverId } = watched.state;
  watched.pairs.endAll();
  instances.set(serverId, { ...watched, state: closed(watched.state, because) });
  settleAll(pending, serverId, because);
}

/**
 * Applies the list of instances, which is the first event of every connection. Instances that it lacks are closed.
 */
function reconcile(
  instances: Map<string, WatchedInstance>,
  servers: readonly Readonly<Record<string, unknown>>[],
  pending: PendingAnswers,
  because: string,
): void {
  const ids = new Set(servers.map(({ serverId }) => String(serverId)));
  for (const [id, watched] of instances) if (!ids.has(id)) close(instances, watched, pending, because);
  for (const { serverId, agent, status, createdAtMs } of servers) {
    const id = String(serverId);
    const known = instances.get(id);
    const watched = known && known.state.status !== "closed" ? known : fresh(newInstance(id, String(agent)));
    const created = typeof createdAtMs === "number" ? createdAtMs : undefined;
    const listed = { agent: String(agent), status: status as InstanceStatus, createdAtMs: created };
    instances.set(id, { ...watched, state: { ...watched.state, ...listed } });
  }
}

function settle(pending: PendingAnswers, serverId: string, event: JournalEvent): void {
  if (pending.size === 0) return;
  if (event.type === "exit") {
    settleAll(pending, serverId, `the agent exited: ${exitText(objectOf(event.data))}`);
    return;
  }
  const { id, problem } = objectOf(event.type === "failed" ? event.data : undefined);
  const envelope = event.type === "failed" ? { id, error: problem } : envelopeOf(event);
  if (event.type !== "failed" && (event.type !== "message" || kindOf(envelope) !== "response")) return;
  const key = `${serverId} ${keyOf(envelope.id)}`;
  const waiter = pending.get(key);
  if (!waiter) return;
  pending.delete(key);
  if (isObject(envelope.error)) {
    waiter.reject(new Error(errorText(envelope.error)));
  } else waiter.resolve((envelope as { result?: unknown }).result);
}

function settleAll(pending: PendingAnswers, serverId: string, reason: string): void {
  for (const [key, waiter] of pending) {
    if (!key.startsWith(`${serverId} `)) continue;
    pending.delete(key);
    waiter.reject(new Error(reason));
  }
}
