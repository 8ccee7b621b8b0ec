/** What one event of the stream of all instances does to what the page knows. Reads no clock and sends nothing. */

import type { WatchedEvent } from "acp-http-client";
import { isObject, objectOf, textOf } from "acp-http-client/internal";
import { envelopeOf, errorText, type JournalEvent, keyOf, kindOf, lineOf } from "./event.ts";
import { exitText, newInstance, reduce } from "./instance.ts";
import { createPairs, type Pairs } from "./pairs.ts";
import type { InstanceState, InstanceStatus } from "./types.ts";

/** An instance with its raw lines. `lines` grows in place; `count` tells that it has. */
export interface Watched {
  readonly state: InstanceState;
  readonly lines: readonly JournalEvent[];
  readonly count: number;
  readonly pairs: Pairs;
}

/** Those who wait for an answer, by instance and id. */
export type Waiting = Map<string, PromiseWithResolvers<unknown>>;

/** Takes in one event of the stream. Changes the two maps, and nothing else. */
export function takeIn(instances: Map<string, Watched>, event: WatchedEvent, waiting: Waiting): void {
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
    if (known) instances.set(serverId, { ...known, state: { ...known.state, status: "closed", asks: [] } });
    settleAll(waiting, serverId, "the instance was closed");
    return;
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
  if (line.type === "exit") {
    settleAll(waiting, serverId, `the agent has ended: ${exitText(objectOf(line.data))}`);
    return;
  }
  const { id, problem } = objectOf(line.type === "failed" ? line.data : undefined);
  const envelope = line.type === "failed" ? { id, error: problem } : envelopeOf(line);
  if (line.type !== "failed" && (line.type !== "message" || kindOf(envelope) !== "response")) return;
  const key = `${serverId} ${keyOf(envelope.id)}`;
  const waiter = waiting.get(key);
  if (!waiter) return;
  waiting.delete(key);
  if (isObject(envelope.error)) {
    waiter.reject(new Error(errorText(envelope.error)));
  } else waiter.resolve((envelope as { result?: unknown }).result);
}

function settleAll(waiting: Waiting, serverId: string, reason: string): void {
  for (const [key, waiter] of waiting) {
    if (!key.startsWith(`${serverId} `)) continue;
    waiting.delete(key);
    waiter.reject(new Error(reason));
  }
}
