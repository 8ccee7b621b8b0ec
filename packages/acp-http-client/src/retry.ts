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

/** Runs something that is given up when the signal is aborted or time is up. */
export async function within<T>(ms: number, signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const limit = new AbortController();
  const stop = (): void => limit.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(() => limit.abort(new Error(`no answer within ${ms} ms`)), ms);
  try {
    return await run(limit.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
