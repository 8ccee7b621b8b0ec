/**
 * Posts messages to the server, so that each takes effect once: requests and notifications in order, responses in
 * parallel. A message keeps its idempotency key, so a POST can always be repeated safely. This module decides when a
 * repetition may succeed.
 */

import type { AcpHttpError } from "./errors.ts";
import { expectOk, type Http } from "./http.ts";
import type { Outgoing } from "./request-ids.ts";
import { LONGEST_TIMER_MS, type RetryOptions, TRANSIENT, withRetry } from "./retry.ts";

/** How many responses are posted in parallel. */
const PARALLEL_RESPONSES = 16;

/** How to post a message. */
export interface PostOptions {
  readonly http: Http;
  /** Returns the URL of the next attempt: it changes once the server has accepted the first message. */
  url(): string;
  /** The `Prefer` header. Default: `respond-async`. */
  readonly prefer?: string | undefined;
  /**
   * True until the server has accepted a message from this client. Until then, it is worth waiting for an instance that
   * is shutting down to be replaced by a new one.
   */
  isFirst(): boolean;
  /** True if the server may hold the POST until the agent has answered, however long that takes. */
  readonly mayHold?: boolean;
  readonly retry: RetryOptions;
  readonly signal: AbortSignal;
}

/**
 * Posts a message until the server accepts it.
 *
 * @returns The body of the HTTP response: the agent's response if the server already had it or waited for it, otherwise
 * empty.
 * @throws AcpTransportError when the server refused the message, or was unreachable for too long.
 */
export async function post(outgoing: Outgoing, options: PostOptions): Promise<string> {
  const attempt = async (signal: AbortSignal): Promise<string> => {
    const response = await options.http(options.url(), {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Prefer: options.prefer ?? "respond-async",
        "Idempotency-Key": outgoing.key,
      },
      body: outgoing.body,
      signal,
    });
    return (await expectOk(response)).text();
  };
  const body = await withRetry(
    options.retry,
    options.signal,
    attempt,
    (error) => !isTransient(error, options.isFirst()),
    options.mayHold ? LONGEST_TIMER_MS : undefined,
  );
  outgoing.accepted = true;
  return body;
}

/**
 * True if the server may accept the same message later. A 502 with a problem document reports a failure of the agent
 * and is final; a 502 without one comes from a gateway that did not reach the server.
 */
function isTransient({ status, code, problem }: AcpHttpError, isFirst: boolean): boolean {
  if (code === "server_stopping" || code === "instance_closing") return isFirst;
  if (status === 502 || status === 504) return problem === undefined;
  return TRANSIENT.includes(status);
}

/** The messages that are being sent. */
export interface Outbox {
  /** Sends a message: at once if it is a response, otherwise after the previous requests and notifications. */
  send(outgoing: Outgoing): void;
  /** Resolves when all messages are sent. */
  idle(): Promise<unknown>;
}

/** Makes an outbox. `post` must not reject. */
export function createOutbox(post: (outgoing: Outgoing) => Promise<void>): Outbox {
  let ordered = Promise.resolve();
  const slots = Array.from({ length: PARALLEL_RESPONSES }, () => ({ last: Promise.resolve(), pending: 0 }));
  return {
    send(outgoing) {
      if (outgoing.kind !== "response") {
        ordered = ordered.then(() => post(outgoing));
        return;
      }
      const slot = slots.reduce((least, other) => (other.pending < least.pending ? other : least));
      slot.pending += 1;
      slot.last = slot.last
        .then(() => post(outgoing))
        .finally(() => {
          slot.pending -= 1;
        });
    },
    idle: () => Promise.all([ordered, ...slots.map(({ last }) => last)]),
  };
}
