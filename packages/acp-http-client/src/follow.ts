/**
 * Reads one event stream over any number of connections, and yields every event after a cursor once and in order.
 * Interprets only two types of event: `gap` and `exit`, which decide where and whether to resume.
 */

import { type AcpHttpError, AcpTransportError } from "./errors.ts";
import { type Http, httpErrorOf } from "./http.ts";
import { createBackoff, linkedController, type RetryOptions, TRANSIENT } from "./retry.ts";
import { readEvents, type SseEvent } from "./sse.ts";

/** A connection that delivers no byte for this long counts as cut. The server sends a keep-alive every 15 s. */
const SILENCE_MS = 45_000;
/** A connection that lasted this long resets the backoff, even if it delivered no event. */
const GOOD_CONNECTION_MS = 5_000;

/** Which stream to follow, and how. */
export interface FollowOptions {
  readonly http: Http;
  /** Returns the URL of the next connection. */
  url(): string;
  /** The id of the event after which to start. */
  readonly lastEventId: string | undefined;
  readonly retry: RetryOptions;
  readonly silenceMs: number | undefined;
  readonly signal: AbortSignal;
  /**
   * True if a stream that resumes also repeats the events without a number that followed the cursor. Such duplicates
   * are then recognised by counting.
   */
  readonly replaysUnnumbered: boolean;
  /** True if the stream is over when it ends after an `exit` event. If false, the client reconnects even then. */
  readonly endsAtExit: boolean;
  /**
   * Called when there is no stream (404, 204). Resolves with true to try again, with false to stop.
   */
  onMissing?(): Promise<boolean>;
  onOpen?(): void;
  onCut?(error: unknown): void;
}

/** The payload of a `gap`. In the stream of many instances it names the instance that it applies to. */
interface Gap {
  readonly serverId?: string;
  readonly after?: number;
  readonly next?: number;
}

/** An event and the number in its id; 0 if it has none. */
export type NumberedEvent = SseEvent & { readonly number: number };

/**
 * Follows a stream until it is over. Yields the events of one chunk as one batch.
 *
 * @throws AcpTransportError when there is no such stream, or the server is unreachable for too long.
 */
export async function* follow(options: FollowOptions): AsyncGenerator<NumberedEvent[], void, void> {
  const { http, signal, endsAtExit, silenceMs = SILENCE_MS } = options;
  const backoff = createBackoff(options.retry, signal);
  let lastEventId = options.lastEventId;
  let seen = numberOf(lastEventId);
  // How many events without a number followed the newest numbered one.
  let unnumbered = 0;
  let exited = false;

  const isNew = (event: NumberedEvent, repeats: { left: number }): boolean => {
    if (event.type === "gap") {
      // After a gap, the server repeats nothing. If its clock was set back, a new instance has lower numbers.
      repeats.left = unnumbered = 0;
      const { serverId, after = 0, next = 0 } = JSON.parse(event.data) as Gap;
      if (!serverId && next <= after) seen = 0;
      return true;
    }
    if (event.number === 0) {
      if (repeats.left > 0) {
        repeats.left -= 1;
        return false;
      }
      if (options.replaysUnnumbered) unnumbered += 1;
      return true;
    }
    if (event.number <= seen) return false;
    seen = event.number;
    lastEventId = event.id;
    repeats.left = unnumbered = 0;
    exited = event.type === "exit";
    return true;
  };

  for (;;) {
    const { controller: cut, detach } = linkedController(signal);
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    let openedAt = Number.POSITIVE_INFINITY;
    const armWatchdog = (): void => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => cut.abort(new Error(`no data for ${silenceMs} ms`)), silenceMs);
    };
    try {
      signal.throwIfAborted();
      armWatchdog();
      const response = await http(options.url(), {
        method: "GET",
        headers: { Accept: "text/event-stream", ...(lastEventId && { "Last-Event-ID": lastEventId }) },
        signal: cut.signal,
      });
      if (response.status === 204 || response.status === 404) {
        clearTimeout(watchdog);
        if (await options.onMissing?.()) continue;
        if (response.status === 204) return;
      }
      if (response.status !== 200) throw await httpErrorOf(response);
      if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
        throw new AcpTransportError("refused", `${options.url()} is not an event stream`);
      }
      openedAt = Date.now();
      backoff.reached();
      options.onOpen?.();
      const repeats = { left: unnumbered };
      for await (const batch of readEvents(response.body)) {
        clearTimeout(watchdog);
        const events = batch
          .map((event) => ({ ...event, number: numberOf(event.id) }))
          .filter((event) => isNew(event, repeats));
        if (events[0]) {
          backoff.reset();
          yield events;
        }
        armWatchdog();
      }
      if (exited && endsAtExit) return;
      throw new Error("stream ended");
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) throw error;
      if (Date.now() - openedAt > GOOD_CONNECTION_MS) backoff.reset();
      options.onCut?.(error);
      await backoff.wait(error);
    } finally {
      clearTimeout(watchdog);
      detach();
      cut.abort();
    }
  }
}

/** True if another attempt cannot succeed. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof AcpTransportError)) return false;
  const { status = 400 } = error as Partial<AcpHttpError>;
  // 409: the instance is shutting down. Soon there is none under this id, or a new one.
  return status < 500 && status !== 409 && !TRANSIENT.includes(status);
}

/** The number in an event id such as `17` or `j17`; 0 if there is none. */
export function numberOf(id: string | undefined): number {
  return Number(/\d+$/.exec(id ?? "")?.[0] ?? 0);
}
