/** Waiting between tries: jittered, growing, and not for ever. */

import { AcpHttpError, AcpTransportError } from "./errors.ts";

/** How a client tries again after a failure that may pass. */
export interface RetryOptions {
  /** The first wait; it doubles with every failure in a row. 50 ms unless told. */
  readonly minMs?: number;
  /** The longest wait. 10 s unless told. */
  readonly maxMs?: number;
  /** After this long without success the client gives up. 2 minutes unless told; `Infinity` is for ever. */
  readonly giveUpMs?: number;
}

/** Keeps count of failures in a row. */
export interface Backoff {
  /** The server was there, which is no success yet but not an absence either. */
  reached(): void;
  /** Something worked. */
  reset(): void;
  /** Waits until another try is due. Throws when it is time to give up, or when the signal is aborted. */
  wait(error: unknown): Promise<void>;
}

/** Starts with no failure. */
export function createBackoff(options: RetryOptions, signal: AbortSignal): Backoff {
  const { minMs = 50, maxMs = 10_000, giveUpMs = 120_000 } = options;
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
      // Half of the wait is chance, so that clients cut off together do not come back together.
      const jittered = Math.min(maxMs, minMs * 2 ** failures) * (0.5 + Math.random() / 2);
      const delay = Math.max(jittered, error instanceof AcpHttpError ? error.retryAfterMs : 0);
      failures += 1;
      if (Date.now() + delay - since > giveUpMs) throw asTransportError(error);
      await sleep(delay, signal);
    },
  };
}

/** What is no error of ours came from the network. */
export function asTransportError(error: unknown): AcpTransportError {
  if (error instanceof AcpTransportError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new AcpTransportError("unreachable", `server unreachable: ${message}`, { cause: error });
}

/** Waits, or throws the signal's reason. */
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

/** A controller that is aborted with the signal, until it is let go. */
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

/**
 * Tries until it works.
 *
 * @throws What the signal was aborted with, what stands, or AcpTransportError when it is time to give up.
 */
export async function withRetry<T>(
  options: RetryOptions,
  signal: AbortSignal,
  attempt: (signal: AbortSignal) => Promise<T>,
  isFinal: (error: AcpHttpError) => boolean,
): Promise<T> {
  const backoff = createBackoff(options, signal);
  for (;;) {
    const { controller, detach } = linkedController(signal);
    const timer = setTimeout(() => controller.abort(new Error(`no response within ${ATTEMPT_MS} ms`)), ATTEMPT_MS);
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
