/** Watching without taking part: these read event streams and send nothing, so an agent never notices. */

import type { AnyMessage } from "@agentclientprotocol/sdk";
import { parseEndpoint, withQuery } from "./endpoint.ts";
import type { AcpExit, AcpProblem } from "./errors.ts";
import { follow, type NumberedEvent } from "./follow.ts";
import { createHttp, type HttpOptions } from "./http.ts";
import { NEVER, type RetryOptions } from "./retry.ts";

/** Options of {@link watchAcp}. */
export interface WatchOptions extends HttpOptions {
  /** `messages`, what the agent says; `journal`, both directions in one order. `messages` unless told. */
  readonly view?: "messages" | "journal" | undefined;
  /** Whether to begin with everything still held, or with what is new. `all` unless told. */
  readonly replay?: "all" | "none" | undefined;
  /** Go on behind this event: the `id` of one seen earlier in the same view. */
  readonly lastEventId?: string | undefined;
  /** How to try again. */
  readonly retry?: RetryOptions | undefined;
  /** Without a byte for this long the event stream counts as cut. 45 s unless told. */
  readonly silenceMs?: number | undefined;
  /** Aborting it ends the watch. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of {@link watchAcpServers}. */
export interface WatchServersOptions extends WatchOptions {
  /** Only these ids, now or later. All of them unless told. */
  readonly servers?: readonly string[] | undefined;
}

/** What every watched event has. */
export interface WatchedBase {
  /** The cursor of this event, where it is one to go on from. */
  readonly id: string | undefined;
  /** Which instance; set in the stream of many. */
  readonly serverId: string | undefined;
  /** The number that `answered` and `gap` speak of. */
  readonly event: number | undefined;
  /** When it happened, in milliseconds since 1970; told by the journal and by the stream of many. */
  readonly atMs: number | undefined;
}

/** What the payloads are, by type of event. */
export interface WatchedPayloads {
  /** From the agent. */
  message: AnyMessage;
  /** To the agent; in the journal only. */
  sent: AnyMessage;
  /** Somebody answered the agent's request that was this event. */
  answered: { readonly id: unknown; readonly event: number };
  /** A request that will get no answer. */
  failed: { readonly id: unknown; readonly problem: AcpProblem };
  /** The agent printed something that is not JSON-RPC. */
  unparsed: { readonly line: string; readonly error?: string; readonly bytes?: number };
  /** The process has ended. */
  exit: AcpExit;
  /** Events between these two are gone for good. */
  gap: { readonly after: number; readonly next: number; readonly serverId?: string };
  /** What there is when the stream of many opens, as the list shows it. */
  instances: { readonly servers: readonly Readonly<Record<string, unknown>>[] };
  /** An instance came. */
  opened: { readonly serverId: string; readonly agent: string };
  /** An instance went. */
  closed: { readonly serverId: string; readonly agent: string };
}

/** One watched event. */
export type WatchedEvent = {
  [Type in keyof WatchedPayloads]: WatchedBase & { readonly type: Type; readonly data: WatchedPayloads[Type] };
}[keyof WatchedPayloads];

/**
 * Watches one endpoint until its agent has ended. Reconnects on its own.
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
 * Watches many instances on one connection, those that come later included. Ends only when it is told to.
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

/** What an event's payload is wrapped in where several instances share a stream. */
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
  // The journal numbers its own events; when one happened, and its number in the stream, stand in a comment.
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
