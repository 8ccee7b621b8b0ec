/**
 * Getting letters to the server, each exactly once: requests and notifications one behind the other, answers side by
 * side. A letter keeps its key, so a repeat is safe whatever became of the first try; the question is only whether a
 * repeat can help.
 */

import { type AcpHttpError, httpErrorOf } from "./errors.ts";
import type { Http } from "./http.ts";
import type { Letter } from "./ledger.ts";
import { persist, type RetryOptions } from "./retry.ts";

/** How many answers are on their way at once. */
const PARALLEL_ANSWERS = 16;

/** How one letter is sent. */
export interface PostOptions {
  readonly http: Http;
  /** Where to; asked at every try, since the first letter that is taken changes it. */
  url(): string;
  readonly prefer: string;
  /** Nothing was taken yet, so an instance that is just closing may be followed by one of ours. */
  isFirst(): boolean;
  readonly retry: RetryOptions;
  readonly signal: AbortSignal;
}

/**
 * Sends a letter until the server has taken it.
 *
 * @returns The answer's body: empty unless the server had the agent's answer at hand.
 * @throws AcpTransportError when it was refused, or could not be delivered for too long.
 */
export async function post(letter: Letter, options: PostOptions): Promise<string> {
  const attempt = async (signal: AbortSignal): Promise<string> => {
    const response = await options.http(options.url(), {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Prefer: options.prefer,
        "Idempotency-Key": letter.key,
      },
      body: letter.body,
      signal,
    });
    if (!response.ok) throw await httpErrorOf(response);
    return response.text();
  };
  const body = await persist(options.retry, options.signal, attempt, (error) => !mayPass(error, options.isFirst()));
  letter.accepted = true;
  return body;
}

/**
 * Whether the same letter may be taken later. A 502 with a problem document speaks of the agent and stands; one
 * without comes from a gateway that did not reach the server.
 */
function mayPass({ status, code, problem }: AcpHttpError, isFirst: boolean): boolean {
  if (code === "server_stopping" || code === "instance_closing") return isFirst;
  if (status === 502 || status === 504) return problem === undefined;
  return [408, 425, 429, 503].includes(status);
}

/** Letters on their way. */
export interface Outbox {
  /** Sends a letter in its turn. */
  put(letter: Letter): void;
  /** Resolves when nothing is on its way. */
  idle(): Promise<unknown>;
}

/** Makes an outbox. `send` never rejects. */
export function createOutbox(send: (letter: Letter) => Promise<void>): Outbox {
  let ordered = Promise.resolve();
  const answers = Array.from({ length: PARALLEL_ANSWERS }, () => ({ last: Promise.resolve(), waiting: 0 }));
  return {
    put(letter) {
      if (letter.kind !== "answer") {
        ordered = ordered.then(() => send(letter));
        return;
      }
      const lane = answers.reduce((least, other) => (other.waiting < least.waiting ? other : least));
      lane.waiting += 1;
      lane.last = lane.last
        .then(() => send(letter))
        .finally(() => {
          lane.waiting -= 1;
        });
    },
    idle: () => Promise.all([ordered, ...answers.map(({ last }) => last)]),
  };
}
