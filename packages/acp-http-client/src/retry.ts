/** Retries with jittered exponential backoff, for a limited time. */

import { AcpHttpError, AcpTransportError } from "./errors.ts";

/** When to retry after a transient failure. */
export interface RetryOptions {
  /** The first delay; it doubles with every consecutive failure. Default: 50 ms. */
  readonly minMs?: number;
  /** The longest delay. Default: 10 s. */
  readonly maxMs?: number;
  /** How long the server may be unreachable before the client gives up. Default: 60 s. `Infinity`: for ever. */
  readonly giveUpMs?: number;
}

/** Counts consecutive failures, and waits between attempts. */
export interface Backoff {
  /** Call it when the server responded, even with a failure: it is reachable. */
  reached(): void;
  /** Call it when an attempt succeeded. */
  reset(): void;
  /** Waits until the next attempt is due. Throws when it is time to give up, or when the signal is aborted. */
  wait(error: unknown): Promise<void>;
}

/** Makes a backoff that has counted no failure yet. */
export function createBackoff(options: RetryOptions, signal: AbortSignal): Backoff {
  const { minMs = 50, maxMs = 10_000, giveUpMs = 60_000 } = options;
  let failures = 0;
  let since: number | undefined;
  return {
    reached() {
      since = undefined;
    },
    reset() {
      failures = 0;
      since = undefined;
    },
    async wait(error) {
      signal.throwIfAborted();
      since ??= Date.now();
      // Half of the delay is random, so that clients that were cut off together do not reconnect together.
      const jittered = Math.min(maxMs, minMs * 2 ** failures) * (0.5 + Math.random() / 2);
      const delay = Math.max(jittered, error instanceof AcpHttpError ? error.retryAfterMs : 0);
      failures += 1;
      if (Date.now() + delay - since > giveUpMs) throw asTransportError(error);
      await sleep(delay, signal);
    },
  };
}

/** Returns this package's own errors as they are. Any other error comes from the network and becomes `unreachable`. */
export function asTransportError(error: unknown): AcpTransportError {
  if (error instanceof AcpTransportError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new AcpTransportError("unreachable", `server unreachable: ${message}`, { cause: error });
}

/** Waits; rejects with the signal's reason when it is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
}

/** A controller that is aborted when the signal is, until `detach` is called. */
export function linkedController(signal: AbortSignal): { readonly controller: AbortController; detach(): void } {
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  return { controller, detach: () => signal.removeEventListener("abort", stop) };
}

/** Statuses after which the same request may succeed later. */
export const TRANSIENT: readonly number[] = [408, 425, 429, 503];

/** A signal that is never aborted. */
export const NEVER = new AbortController().signal;

/** How long one attempt may take. */
const ATTEMPT_MS = 60_000;
/** The longest delay that `setTimeout` accepts. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Repeats an attempt until it succeeds.
 *
 * @throws The signal's reason, the first final error, or AcpTransportError when it is time to give up.
 */
export async function withRetry<T>(
  options: RetryOptions,
  signal: AbortSignal,
  attempt: (signal: AbortSignal) => Promise<T>,
  isFinal: (error: AcpHttpError) => boolean,
  attemptMs = ATTEMPT_MS,
): Promise<T> {
  const backoff = createBackoff(options, signal);
  for (;;) {
    const { controller, detach } = linkedController(signal);
    const timer = setTimeout(() => controller.abort(new Error(`no response within ${attemptMs} ms`)), attemptMs);
    try {
      signal.throwIfAborted();
      return await attempt(controller.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AcpHttpError && isFinal(error)) throw error;
      await backoff.wait(error);
    } finally {
      clearTimeout(timer);
      detach();
    }
  }
}
