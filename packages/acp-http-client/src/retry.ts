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
export interface Patience {
  /** The server was there, which is no success yet but not an absence either. */
  reached(): void;
  /** Something worked. */
  reset(): void;
  /** Waits until another try is due. Throws when it is time to give up, or when the signal is aborted. */
  wait(error: unknown): Promise<void>;
}

/** Starts with no failure. */
export function createPatience(options: RetryOptions, signal: AbortSignal): Patience {
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
  return new AcpTransportError("unreachable", `the server cannot be reached: ${message}`, { cause: error });
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
export function follower(signal: AbortSignal): { readonly control: AbortController; letGo(): void } {
  const control = new AbortController();
  const stop = (): void => control.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  return { control, letGo: () => signal.removeEventListener("abort", stop) };
}

/** How long one try may take. */
const TRY_MS = 60_000;

/**
 * Tries until it works.
 *
 * @throws What the signal was aborted with, what stands, or AcpTransportError when it is time to give up.
 */
export async function persist<T>(
  options: RetryOptions,
  signal: AbortSignal,
  attempt: (signal: AbortSignal) => Promise<T>,
  stands: (error: AcpHttpError) => boolean,
): Promise<T> {
  const patience = createPatience(options, signal);
  for (;;) {
    const { control, letGo } = follower(signal);
    const timer = setTimeout(() => control.abort(new Error(`no answer within ${TRY_MS} ms`)), TRY_MS);
    try {
      signal.throwIfAborted();
      return await attempt(control.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AcpHttpError && stands(error)) throw error;
      await patience.wait(error);
    } finally {
      clearTimeout(timer);
      letGo();
    }
  }
}
