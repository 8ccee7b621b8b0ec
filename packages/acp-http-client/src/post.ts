/**
 * Getting letters to the server, each exactly once: requests and notifications one behind the other, answers side by
 * side. A outgoing keeps its key, so a repeat is safe whatever became of the first try; the question is only whether a
 * repeat can help.
 */

import type { AcpHttpError } from "./errors.ts";
import { expectOk, type Http } from "./http.ts";
import type { Outgoing } from "./request-ids.ts";
import { type RetryOptions, TRANSIENT, withRetry } from "./retry.ts";

/** How many answers are on their way at once. */
const PARALLEL_RESPONSES = 16;

/** How one outgoing is sent. */
export interface PostOptions {
  readonly http: Http;
  /** Where to; asked at every try, since the first outgoing that is taken changes it. */
  url(): string;
  /** Default: `respond-async`. */
  readonly prefer?: string | undefined;
  /** Nothing was taken yet, so an instance that is just closing may be followed by one of ours. */
  isFirst(): boolean;
  readonly retry: RetryOptions;
  readonly signal: AbortSignal;
}

/**
 * Sends a outgoing until the server has taken it.
 *
 * @returns The answer's body: empty unless the server had the agent's answer at hand.
 * @throws AcpTransportError when it was refused, or could not be delivered for too long.
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
  );
  outgoing.accepted = true;
  return body;
}

/**
 * Whether the same outgoing may be taken later. A 502 with a problem document speaks of the agent and stands; one
 * without comes from a gateway that did not reach the server.
 */
function isTransient({ status, code, problem }: AcpHttpError, isFirst: boolean): boolean {
  if (code === "server_stopping" || code === "instance_closing") return isFirst;
  if (status === 502 || status === 504) return problem === undefined;
  return TRANSIENT.includes(status);
}

/** Letters on their way. */
export interface Outbox {
  /** Sends a outgoing in its turn. */
  send(outgoing: Outgoing): void;
  /** Resolves when nothing is on its way. */
  idle(): Promise<unknown>;
}

/** Makes an outbox. `send` never rejects. */
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
