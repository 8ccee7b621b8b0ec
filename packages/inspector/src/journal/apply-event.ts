/** Applies an event of the stream of all instances to the page's state. */

import type { WatchedEvent } from "acp-http-client";
import { isObject, objectOf, textOf } from "acp-http-client/internal";
import { envelopeOf, errorText, type JournalEvent, journalEventOf, keyOf, kindOf } from "./event.ts";
import { exitText, newInstance, reduce } from "./instance.ts";
import { createPairs, type Pairs } from "./pairs.ts";
import type { InstanceState, InstanceStatus } from "./types.ts";

/** An instance with its journal. `events` grows in place; a change of `count` tells that it has. */
export interface WatchedInstance {
  readonly state: InstanceState;
  readonly events: readonly JournalEvent[];
  readonly count: number;
  readonly pairs: Pairs;
}

/** The requests of this page that await an answer, by instance and id. */
export type PendingAnswers = Map<string, PromiseWithResolvers<unknown>>;

/** Applies one event of the stream. Changes the two maps and nothing else. */
export function applyEvent(
  instances: Map<string, WatchedInstance>,
  event: WatchedEvent,
  pending: PendingAnswers,
): void {
  if (event.type === "instances") {
    reconcile(instances, event.data.servers);
    return;
  }
  const serverId = event.serverId ?? textOf(objectOf(event.data).serverId);
  if (serverId === undefined) return;
  const known = instances.get(serverId);
  if (event.type === "opened") {
    if (known && known.state.status !== "closed") return;
    instances.set(serverId, fresh(newInstance(serverId, event.data.agent)));
    return;
  }
  if (event.type === "closed") {
    if (known) instances.set(serverId, { ...known, state: { ...known.state, status: "closed", agentRequests: [] } });
    settleAll(pending, serverId, "the instance was closed");
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
  return { state, events: [], count: 0, pairs: createPairs() };
}

/**
 * Applies the list of instances, which comes first and again after every reconnect. Instances that it lacks are closed.
 */
function reconcile(
  instances: Map<string, WatchedInstance>,
  servers: readonly Readonly<Record<string, unknown>>[],
): void {
  const ids = new Set(servers.map(({ serverId }) => String(serverId)));
  for (const [id, watched] of instances) {
    if (!ids.has(id))
      instances.set(id, { ...watched, state: { ...watched.state, status: "closed", agentRequests: [] } });
  }
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
