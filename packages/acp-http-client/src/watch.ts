/** Read-only access to event streams. Nothing here sends anything to an agent. */

import type { AnyMessage } from "@agentclientprotocol/sdk";
import { parseEndpoint, withQuery } from "./endpoint.ts";
import type { AcpExit, AcpProblem } from "./errors.ts";
import { follow, type NumberedEvent } from "./follow.ts";
import { createHttp, type HttpOptions } from "./http.ts";
import { NEVER, type RetryOptions } from "./retry.ts";

/** Options for {@link watchAcp}. */
export interface WatchOptions extends HttpOptions {
  /** What to watch: what the agent sends (`messages`, the default), or both directions in one order (`journal`). */
  readonly view?: "messages" | "journal" | undefined;
  /** Where to start: with everything that the server still holds (`all`, the default), or with what is new (`none`). */
  readonly replay?: "all" | "none" | undefined;
  /** The `id` of the event after which to resume. It was received earlier in the same view. */
  readonly lastEventId?: string | undefined;
  /** When to retry. */
  readonly retry?: RetryOptions | undefined;
  /** How long the event stream may deliver no byte before it counts as cut. Default: 45 s. */
  readonly silenceMs?: number | undefined;
  /** A signal whose abort ends the watch. */
  readonly signal?: AbortSignal | undefined;
}

/** Options for {@link watchAcpServers}. */
export interface WatchServersOptions extends WatchOptions {
  /** The ids of the instances to watch, which may be created later. Default: all instances. */
  readonly servers?: readonly string[] | undefined;
}

/** The fields that every watched event has. */
export interface WatchedBase {
  /** The cursor of this event, if a watch can resume from it. */
  readonly id: string | undefined;
  /** The id of the instance; set in the stream of many instances. */
  readonly serverId: string | undefined;
  /** The event's own number, by which `answered` and `gap` events refer to it. */
  readonly event: number | undefined;
  /**
   * When the event happened, in milliseconds since the Unix epoch; set in the journal and in the stream of many
   * instances.
   */
  readonly atMs: number | undefined;
}

/** The payloads by event type. */
export interface WatchedPayloads {
  /** A message from the agent. */
  message: AnyMessage;
  /** A message to the agent; only in the journal. */
  sent: AnyMessage;
  /** A client answered the agent request that was delivered as this event. */
  answered: { readonly id: unknown; readonly event: number };
  /** A request will not be answered. */
  failed: { readonly id: unknown; readonly problem: AcpProblem };
  /** The agent printed a line that is not JSON-RPC. */
  unparsed: { readonly line: string; readonly error?: string; readonly bytes?: number };
  /** The agent's process has exited. */
  exit: AcpExit;
  /** The events between these two are lost. */
  gap: { readonly after: number; readonly next: number; readonly serverId?: string };
  /** The instances that exist when the stream of many instances opens, as in the server's list. */
  instances: { readonly servers: readonly Readonly<Record<string, unknown>>[] };
  /** An instance was created. */
  opened: { readonly serverId: string; readonly agent: string };
  /** An instance was closed. */
  closed: { readonly serverId: string; readonly agent: string };
}

/** An event of a watched instance. */
export type WatchedEvent = {
  [Type in keyof WatchedPayloads]: WatchedBase & { readonly type: Type; readonly data: WatchedPayloads[Type] };
}[keyof WatchedPayloads];

/**
 * Watches one endpoint until its agent exits. Reconnects by itself.
 *
 * @throws AcpHttpError when there is no such instance.
 */
export async function* watchAcp(
  url: string | URL,
  options: WatchOptions = {},
): AsyncGenerator<WatchedEvent, void, void> {
  yield* watch(parseEndpoint(url).url, options, "one");
}

/**
 * Watches many instances on one connection, including those created later. Ends only when the signal is aborted.
 *
 * @param url - The list, such as `http://127.0.0.1:2468/v1/acp`.
 */
export async function* watchAcpServers(
  url: string | URL,
  options: WatchServersOptions = {},
): AsyncGenerator<WatchedEvent, void, void> {
  const all = parseEndpoint(url).url;
  const some = (options.servers ?? []).reduce((address, server) => withQuery(address, "server", server), all);
  yield* watch(some, options, "many");
}

async function* watch(
  base: string,
  options: WatchOptions,
  scope: "one" | "many",
): AsyncGenerator<WatchedEvent, void, void> {
  const { view = "messages", replay = "all", signal = NEVER } = options;
  const viewed = view === "journal" ? withQuery(base, "view", view) : base;
  const address = replay === "none" ? withQuery(viewed, "replay", replay) : viewed;
  const batches = follow({
    http: createHttp(options),
    url: () => address,
    lastEventId: options.lastEventId,
    retry: options.retry ?? {},
    silenceMs: options.silenceMs,
    signal,
    replaysUnnumbered: scope === "one" && view === "messages",
    endsAtExit: scope === "one",
  });
  try {
    for await (const batch of batches) for (const event of batch) yield watched(event, scope);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** How the stream of many instances wraps the payload of an event. */
interface Wrapped {
  serverId?: string;
  event?: number;
  atMs?: number;
  data?: unknown;
}

function watched({ type, id, data, comment, number }: NumberedEvent, scope: "one" | "many"): WatchedEvent {
  const payload: unknown = JSON.parse(data);
  const { serverId, ...rest } = payload as Wrapped;
  if (scope === "many") {
    const inner = "data" in rest ? rest.data : payload;
    return { type, id, serverId, event: rest.event, atMs: rest.atMs, data: inner } as WatchedEvent;
  }
  // In the journal, the time of an event and its number in the event stream are in an SSE comment.
  const [, atMs, event] = /^at (\d+)(?: event (\d+))?$/.exec(comment ?? "") ?? [];
  return {
    type,
    id,
    serverId: undefined,
    event: event ? Number(event) : !id?.startsWith("j") && number > 0 ? number : undefined,
    atMs: atMs ? Number(atMs) : undefined,
    data: payload,
  } as WatchedEvent;
}
