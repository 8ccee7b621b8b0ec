/**
 * One event stream over as many connections as it takes: every event once, in order, from a cursor on. Reads only;
 * what the events mean is for others, but for `gap` and `exit`, which decide where to go on and whether to.
 */

import { type AcpHttpError, AcpTransportError } from "./errors.ts";
import { type Http, httpErrorOf } from "./http.ts";
import { createBackoff, linkedController, type RetryOptions, TRANSIENT } from "./retry.ts";
import { readEvents, type SseEvent } from "./sse.ts";

/** Without a byte for this long, a connection counts as cut. Servers of this transport send one every 15 s. */
const SILENCE_MS = 45_000;
/** A connection that lasted this long was a good one, even if nothing was said on it. */
const GOOD_CONNECTION_MS = 5_000;

/** What to follow. */
export interface FollowOptions {
  readonly http: Http;
  /** Asked at every connection. */
  url(): string;
  /** Start behind this event. */
  readonly lastEventId: string | undefined;
  readonly retry: RetryOptions;
  readonly silenceMs: number | undefined;
  readonly signal: AbortSignal;
  /** Where events without a number are replayed with those around them, a repeat of them is recognised by count. */
  readonly replaysUnnumbered: boolean;
  /** Whether the stream is over when it ends behind an `exit`. */
  readonly endsAtExit: boolean;
  /** Asked when there is no stream (404, 204): whether to try again. Waits until that makes sense. */
  onMissing?(): Promise<boolean>;
  onOpen?(): void;
  onCut?(error: unknown): void;
}

/** What a `gap` says; one of many instances' speaks of that one alone. */
interface Gap {
  readonly serverId?: string;
  readonly after?: number;
  readonly next?: number;
}

/** An event, with the number in its id; 0 where it has none. */
export type NumberedEvent = SseEvent & { readonly number: number };

/**
 * Follows a stream until it is over. Yields what came together as one batch.
 *
 * @throws AcpTransportError when there is no such stream, or it cannot be reached for too long.
 */
export async function* follow(options: FollowOptions): AsyncGenerator<NumberedEvent[], void, void> {
  const { http, signal, endsAtExit, silenceMs = SILENCE_MS } = options;
  const backoff = createBackoff(options.retry, signal);
  let lastEventId = options.lastEventId;
  let seen = numberOf(lastEventId);
  // How many events without a number came behind the newest one with a number.
  let unnumbered = 0;
  let exited = false;

  const isNew = (event: NumberedEvent, repeats: { left: number }): boolean => {
    if (event.type === "gap") {
      // Behind a gap there are no repeats; and where the clock was set back, numbers start lower.
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

/** What the server says about a GET stands, unless it says that it will pass. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof AcpTransportError)) return false;
  const { status = 400 } = error as Partial<AcpHttpError>;
  // 409 is an instance on its way out: soon there is none, or a new one.
  return status < 500 && status !== 409 && !TRANSIENT.includes(status);
}

/** The number in `17` or `j17`. */
export function numberOf(id: string | undefined): number {
  return Number(/\d+$/.exec(id ?? "")?.[0] ?? 0);
}
