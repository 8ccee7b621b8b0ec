/**
 * The transport: a `Stream` of the official SDK over one HTTP endpoint. It moves messages and keeps them whole, in
 * order and single; it never reads what they say, but for the ids by which requests and answers find each other.
 */

import type { AnyMessage } from "@agentclientprotocol/sdk";
import { lookUp, type Place, parseEndpoint, placeOf } from "./endpoint.ts";
import { type AcpExit, AcpExitError, AcpHttpError, AcpTransportError, httpErrorOf } from "./errors.ts";
import { follow, type NumberedEvent, numberOf } from "./follow.ts";
import { createHttp } from "./http.ts";
import { createLedger, type Letter } from "./ledger.ts";
import type { AcpCloseOptions, AcpHttpOptions, AcpHttpStream, AcpStreamEvent } from "./options.ts";
import { createOutbox, post } from "./post.ts";
import { createMessageQueue } from "./queue.ts";
import { asTransportError, persist, sleep } from "./retry.ts";
import type { WatchedPayloads } from "./watch.ts";

/** While the agent starts, a failure to start is told to the request itself for this many seconds. */
const BOOTSTRAP_PREFER = "respond-async, wait=20";
/** An instance's first event number and its time of creation come from two looks at the clock. */
const BIRTH_SLACK_US = 5_000;
const NEVER = new AbortController().signal;

/**
 * Opens a stream to one endpoint.
 *
 * @param url - The endpoint, such as `http://127.0.0.1:2468/v1/acp/my-id?agent=mock`. The agent is named until the
 * first message is taken and then no more, so an agent that has ended is not started again by accident.
 */
export function acpHttpStream(url: string | URL, options: AcpHttpOptions = {}): AcpHttpStream {
  const endpoint = parseEndpoint(url);
  const http = createHttp(options);
  const retry = options.retry ?? {};
  const ledger = createLedger();
  const inbox = createMessageQueue();
  const stopping = new AbortController();
  const { signal } = stopping;
  const common = { http, retry, signal };

  let place: Place = placeOf(endpoint, "absent", "open", options.lastEventId);
  /** Messages up to here are the past; see {@link Place}. */
  let past = place.past;
  /** The newest number that the reader has passed. */
  let position = 0;
  let bornUs = place.bornUs;
  let exit: AcpExit | undefined;
  /** Whether the server has taken a message of ours. */
  let accepted = false;
  let hasOpened = false;
  let isLastTry = false;
  let sending = 0;
  let sendingBegan = deferred<void>();
  /** Resolved when a message may be sent without missing what follows from it. */
  const ready = deferred<void>();
  const ended = deferred<AcpTransportError>();

  const emit = (event: AcpStreamEvent): void => {
    try {
      options.onEvent?.(event);
    } catch (error) {
      // A listener's mistake is the listener's, as with any event.
      queueMicrotask(() => {
        throw error;
      });
    }
  };
  const end = (error: AcpTransportError): void => {
    if (signal.aborted) return;
    stopping.abort(error);
    for (const gate of [ready, sendingBegan]) gate.resolve();
    inbox.end(error);
    options.signal?.removeEventListener("abort", leave);
    ended.resolve(error);
  };
  const leave = (): void => end(new AcpTransportError("detached", "detached by this client"));
  const deliver = (message: AnyMessage | undefined): void => {
    if (message) inbox.push(message);
  };
  const fail = (wireId: unknown, error: AcpTransportError): void => {
    const answer = ledger.failed(wireId, error);
    if (!answer) return;
    deliver(answer);
    emit({ type: "failed", id: answer.id, error });
  };

  // To the agent.

  const send = async (letter: Letter): Promise<void> => {
    await ready.promise;
    sending += 1;
    sendingBegan.resolve();
    try {
      const isBootstrap = !accepted && !place.isRunning && letter.kind === "request";
      await post(letter, {
        ...common,
        prefer: isBootstrap ? BOOTSTRAP_PREFER : "respond-async",
        url: () => (accepted ? endpoint.url : endpoint.bootstrapUrl),
        isFirst: () => !accepted,
      });
      accepted = true;
    } catch (error) {
      refused(letter, asTransportError(error));
    } finally {
      sending -= 1;
      if (sending === 0 && !accepted && !signal.aborted) sendingBegan = deferred();
    }
  };
  const refused = (letter: Letter, error: AcpTransportError): void => {
    const { code } = error as Partial<AcpHttpError>;
    // The agent has answered this before: on the stream.
    if (code === "outcome_gone") letter.accepted = true;
    else if (letter.kind === "request") fail((letter.message as { id: unknown }).id, error);
    else if (code !== "already_answered" && !signal.aborted) {
      emit({ type: "undelivered", message: letter.message, error });
    }
  };
  const outbox = createOutbox(send);

  // From the agent.

  const messageOnItsWay = async (): Promise<void> => {
    do {
      await sendingBegan.promise;
      await sleep(10 + 30 * Math.random(), signal);
    } while (sending === 0 && !accepted);
  };

  /** There is no stream: worth waiting for while a message that makes one is on its way, and once more behind it. */
  const absent = async (): Promise<boolean> => {
    if (hasOpened || isLastTry) return false;
    isLastTry = accepted;
    if (accepted) return true;
    place = { ...place, isRunning: false, url: endpoint.url };
    ready.resolve();
    await messageOnItsWay();
    return true;
  };

  const receive = (event: NumberedEvent, answered: ReadonlySet<number>): void => {
    const { number, type } = event;
    if (type === "gap") {
      missed(JSON.parse(event.data) as WatchedPayloads["gap"]);
      return;
    }
    const isPast = number > 0 ? number <= past : position < past;
    if (number > 0) {
      position = number;
      bornUs = Math.min(bornUs, number);
      if (type !== "exit") exit = undefined;
    }
    if (type === "message") {
      const message = JSON.parse(event.data) as AnyMessage;
      const isRequest = "method" in message && "id" in message;
      const isSettled = answered.has(number) || (number <= Math.max(past, place.known) && !place.open.has(number));
      if (isRequest ? isSettled : isPast) return;
      deliver(ledger.incoming(message, number));
    } else if (!isPast) outOfBand(event);
  };

  const outOfBand = ({ type, data }: NumberedEvent): void => {
    const read = <Type extends keyof WatchedPayloads>(_type: Type) => JSON.parse(data) as WatchedPayloads[Type];
    if (type === "answered") {
      const { id, event } = read(type);
      deliver(ledger.answered(event));
      emit({ type, id, event });
    } else if (type === "failed") {
      const { id, problem } = read(type);
      fail(id, new AcpHttpError(problem.status ?? 502, problem));
    } else if (type === "unparsed") {
      emit({ type, ...read(type) });
    } else if (type === "exit") {
      exit = read(type);
      withdraw(ledger.openEvents());
      emit({ type, exit });
    }
  };

  /** Tells the user to stop working on requests that nobody waits for any more. */
  const withdraw = (events: number[]): void => {
    for (const event of events) deliver(ledger.answered(event));
  };

  const missed = ({ after, next }: WatchedPayloads["gap"]): void => {
    // What lies between an old open request and the present was not asked for.
    if (next > after && next <= past + 1) return;
    emit({ type: "gap", after: Math.max(after, past), next });
    // Numbers never fall within a life; across lives they do where the clock was set back.
    if (next <= after) replaced();
    else void reconcile();
  };

  const replaced = (): void => end(new AcpTransportError("lost", "the agent is gone and another has its id"));

  /** Behind a gap: what waits may have been settled in it. Asks again, but never another life of this id. */
  const reconcile = async (): Promise<void> => {
    // Taken down before the server looks, so that it knows of all of it.
    const open = ledger.openEvents();
    const accepted = [...ledger.waiting].filter(([, letter]) => letter.accepted);
    const state = await lookUp(http, endpoint, signal).catch(() => "unknown" as const);
    if (typeof state === "object") {
      if (state.createdAtMs * 1000 > bornUs + BIRTH_SLACK_US) {
        replaced();
        return;
      }
      withdraw(open.filter((event) => !state.awaiting.has(event)));
    }
    for (const [wireId, letter] of accepted) {
      if (!ledger.waiting.has(wireId)) continue;
      try {
        if (typeof state !== "object") throw new AcpTransportError("lost", "the answer may be among what is gone");
        const body = await post(letter, {
          ...common,
          prefer: "respond-async",
          url: () => endpoint.url,
          isFirst: () => false,
        });
        if (body) deliver(ledger.incoming(JSON.parse(body) as AnyMessage, 0));
      } catch (error) {
        fail(wireId, asTransportError(error));
      }
    }
  };

  const locate = async (): Promise<void> => {
    const attempt = (limit: AbortSignal) => lookUp(http, endpoint, limit);
    const state = await persist(retry, signal, attempt, ({ status }) => status === 401);
    place = placeOf(endpoint, state, options.replay ?? "open", options.lastEventId);
    ({ past, bornUs } = place);
    position = numberOf(place.lastEventId);
    // Where the server does not tell what is new, the stream is open before anything new can happen.
    if (state !== "unknown") ready.resolve();
  };

  const run = async (): Promise<never> => {
    await locate();
    if (!place.isRunning) await messageOnItsWay();
    const batches = follow({
      ...common,
      url: () => place.url,
      lastEventId: place.lastEventId,
      silenceMs: options.silenceMs,
      repeatsUnnumbered: true,
      endsAtExit: true,
      absent,
      onOpen() {
        hasOpened = true;
        ready.resolve();
        emit({ type: "open" });
      },
      onCut: (error) => emit({ type: "cut", error }),
    });
    for await (const batch of batches) {
      const answered = new Set(batch.flatMap(answeredEvents));
      for (const event of batch) receive(event, answered);
      await inbox.room();
    }
    throw exit?.problem ? new AcpHttpError(exit.problem.status ?? 502, exit.problem) : new AcpExitError(exit ?? {});
  };

  // The end.

  const detach = async (): Promise<void> => {
    // The SDK writes a moment after it is called.
    await sleep(0, NEVER);
    await Promise.race([outbox.idle(), ended.promise]);
    leave();
  };

  const close = async ({ signal: limit = NEVER, ...patience }: AcpCloseOptions = {}): Promise<void> => {
    end(new AcpTransportError("closed", "closed by this client"));
    const attempt = async (limit: AbortSignal): Promise<void> => {
      const response = await http(endpoint.url, { method: "DELETE", signal: limit });
      if (!response.ok) throw await httpErrorOf(response);
    };
    await persist({ ...retry, ...patience }, limit, attempt, ({ status }) => status < 500 && status !== 429);
  };

  options.signal?.addEventListener("abort", leave, { once: true });
  if (options.signal?.aborted) leave();
  run().catch((error: unknown) => end(asTransportError(error)));

  return {
    readable: inbox.readable(leave),
    writable: new WritableStream<AnyMessage>({
      write(message) {
        signal.throwIfAborted();
        const letter = ledger.outgoing(message);
        if (letter) outbox.put(letter);
      },
      close: detach,
      abort: leave,
    }),
    get lastEventId() {
      const newest = Math.max(position, past);
      return newest > 0 ? String(newest) : undefined;
    },
    ended: ended.promise,
    close,
    detach,
  };
}

/** The request that an `answered` event speaks of. */
function answeredEvents({ type, data }: NumberedEvent): number[] {
  return type === "answered" ? [(JSON.parse(data) as { event: number }).event] : [];
}

function deferred<T>(): { readonly promise: Promise<T>; resolve(value?: T): void } {
  let resolve: (value?: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle as (value?: T) => void;
  });
  return { promise, resolve };
}
