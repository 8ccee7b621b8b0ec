/**
 * The transport: a `Stream` of the official SDK over one HTTP endpoint. Delivers every message once and in order. The
 * only parts of a message that it reads are the ids that match responses to requests.
 */

import type { AnyMessage } from "@agentclientprotocol/sdk";
import { lookUp, parseEndpoint, type StartPosition, startPosition } from "./endpoint.ts";
import { type AcpExit, AcpExitError, AcpHttpError, AcpTransportError } from "./errors.ts";
import { follow, type NumberedEvent, numberOf } from "./follow.ts";
import { createHttp, expectOk } from "./http.ts";
import { parseObject } from "./json.ts";
import type { AcpCloseOptions, AcpHttpOptions, AcpHttpStream, AcpStreamEvent } from "./options.ts";
import { createOutbox, post } from "./post.ts";
import { createMessageQueue } from "./queue.ts";
import { createRequestIds, type Outgoing } from "./request-ids.ts";
import { asTransportError, NEVER, sleep, withRetry } from "./retry.ts";
import type { WatchedPayloads } from "./watch.ts";

/**
 * The `Prefer` header of a POST that starts the agent: the server waits up to 20 s for the agent's answer, so that a
 * failed start is reported in the response to this POST.
 */
const BOOTSTRAP_PREFER = "respond-async, wait=20";
/**
 * A response in the body of a POST may overtake messages on the event stream. So it is delivered only when the stream
 * has brought nothing for this long.
 */
const QUIET_MS = 50;
/**
 * A server that ignores `Prefer` holds a POST until the agent answers. The next message is sent after this time even if
 * the POST is still held.
 */
const HOLD_MS = 250;
/**
 * By how much the creation time of an instance may be later than its first event number: the server reads the clock
 * for each of them.
 */
const CREATION_SLACK_US = 5_000;

/**
 * Opens a stream to one endpoint.
 *
 * @param url - The endpoint, such as `http://127.0.0.1:2468/v1/acp/my-id?agent=mock`. `?agent=` is sent only until the
 * server has accepted the first message, so that an agent that has exited is never restarted by accident.
 */
export function acpHttpStream(url: string | URL, options: AcpHttpOptions = {}): AcpHttpStream {
  const endpoint = parseEndpoint(url);
  const http = createHttp(options);
  const retry = options.retry ?? {};
  const requestIds = createRequestIds();
  const inbox = createMessageQueue();
  const stopping = new AbortController();
  const { signal } = stopping;
  const common = { http, retry, signal };

  let start: StartPosition = startPosition(endpoint, "absent", "open", options.lastEventId);
  /** Messages up to this number are in the past; see {@link StartPosition}. */
  let past = start.past;
  /** The number of the newest event that was read. */
  let position = 0;
  let createdUs = start.createdUs;
  let exit: AcpExit | undefined;
  /** True once the server has accepted a message from this client. */
  let accepted = false;
  /** True once the server has responded to a request before the agent answered it, as the `Prefer` header asks. */
  let isAsync = false;
  let hasOpened = false;
  let isLastTry = false;
  let sending = 0;
  let sendingBegan = deferred<void>();
  /** Resolves when messages can be sent: from then on it is known where in the event stream the answers will be. */
  const ready = deferred<void>();
  const ended = deferred<AcpTransportError>();

  const emit = (event: AcpStreamEvent): void => {
    try {
      options.onEvent?.(event);
    } catch (error) {
      // An exception in a listener is the listener's bug: report it as uncaught.
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
    options.signal?.removeEventListener("abort", detachNow);
    ended.resolve(error);
  };
  const detachNow = (): void => end(new AcpTransportError("detached", "detached by this client"));
  const deliver = (message: AnyMessage | undefined): void => {
    if (message) inbox.push(message);
  };
  const fail = (wireId: unknown, error: AcpTransportError): void => {
    const answer = requestIds.failed(wireId, error);
    if (!answer) return;
    deliver(answer);
    emit({ type: "failed", id: answer.id, error });
  };

  // Sending.

  const send = async (outgoing: Outgoing): Promise<void> => {
    await ready.promise;
    sending += 1;
    sendingBegan.resolve();
    try {
      const isRequest = outgoing.kind === "request";
      const mayHold = accepted && !isAsync && isRequest;
      const posting = post(outgoing, {
        ...common,
        prefer: !accepted && !start.isRunning && isRequest ? BOOTSTRAP_PREFER : undefined,
        url: () => (accepted ? endpoint.url : endpoint.bootstrapUrl),
        isFirst: () => !accepted,
        mayHold,
      }).then((body) => {
        accepted = true;
        if (isRequest && body) deliverBody(outgoing, body).catch(() => {});
        else isAsync ||= isRequest;
      });
      await (mayHold
        ? Promise.race([posting.catch((error) => onRefused(outgoing, asTransportError(error))), sleep(HOLD_MS, signal)])
        : posting);
    } catch (error) {
      onRefused(outgoing, asTransportError(error));
    } finally {
      sending -= 1;
      if (sending === 0 && !accepted && !signal.aborted) sendingBegan = deferred();
    }
  };
  /** Delivers a response from the body of a POST, unless the event stream brings it first. */
  const deliverBody = async ({ message }: Outgoing, body: string): Promise<void> => {
    const response = parseObject(body);
    if (!response) {
      fail((message as { id: unknown }).id, new AcpTransportError("refused", "the response is not JSON"));
      return;
    }
    for (let before = -1; before !== position; ) {
      before = position;
      await sleep(QUIET_MS, signal);
    }
    deliver(requestIds.fromWire(response as unknown as AnyMessage, 0));
  };
  const onRefused = (outgoing: Outgoing, error: AcpTransportError): void => {
    const { code } = error as Partial<AcpHttpError>;
    // The agent has already answered this request, on the event stream.
    if (code === "outcome_gone") outgoing.accepted = true;
    else if (outgoing.kind === "request") fail((outgoing.message as { id: unknown }).id, error);
    else if (code !== "already_answered" && !signal.aborted) {
      emit({ type: "undelivered", message: outgoing.message, error });
    }
  };
  const outbox = createOutbox(send);

  // Receiving.

  /** Resolves when a message is being sent, or was accepted: only then can the event stream exist. */
  const messageInFlight = async (): Promise<void> => {
    do {
      await sendingBegan.promise;
      await sleep(10 + 30 * Math.random(), signal);
    } while (sending === 0 && !accepted);
  };

  /**
   * Called when there is no event stream. Returns true to try again: at most once after the server has accepted a
   * message, and before that whenever a message is being sent that may create the stream.
   */
  const onMissing = async (): Promise<boolean> => {
    if (hasOpened || isLastTry) return false;
    isLastTry = accepted;
    if (accepted) return true;
    start = { ...start, isRunning: false, url: endpoint.url };
    ready.resolve();
    await messageInFlight();
    return true;
  };

  const receive = (event: NumberedEvent, answered: ReadonlySet<number>): void => {
    const { number, type } = event;
    if (type === "gap") {
      onGap(JSON.parse(event.data) as WatchedPayloads["gap"]);
      return;
    }
    const isPast = number > 0 ? number <= past : position < past;
    if (number > 0) {
      position = number;
      createdUs = Math.min(createdUs, number);
      if (type !== "exit") exit = undefined;
    }
    if (type === "message") {
      const message = JSON.parse(event.data) as AnyMessage;
      const isRequest = "method" in message && "id" in message;
      const isSettled = answered.has(number) || (number <= Math.max(past, start.known) && !start.open.has(number));
      if (isRequest ? isSettled : isPast) return;
      deliver(requestIds.fromWire(message, number));
    } else if (!isPast) outOfBand(event);
  };

  const outOfBand = ({ type, data }: NumberedEvent): void => {
    const read = <Type extends keyof WatchedPayloads>(_type: Type) => JSON.parse(data) as WatchedPayloads[Type];
    if (type === "answered") {
      const { id, event } = read(type);
      deliver(requestIds.answered(event));
      emit({ type, id, event });
    } else if (type === "failed") {
      const { id, problem } = read(type);
      fail(id, new AcpHttpError(problem.status ?? 502, problem));
    } else if (type === "unparsed") {
      emit({ type, ...read(type) });
    } else if (type === "exit") {
      exit = read(type);
      withdraw(requestIds.openEvents());
      emit({ type, exit });
    }
  };

  /** Cancels the handlers of agent requests that no longer await an answer. */
  const withdraw = (events: number[]): void => {
    for (const event of events) deliver(requestIds.answered(event));
  };

  const onGap = ({ after, next }: WatchedPayloads["gap"]): void => {
    // A gap between an unanswered old request and the present is expected: those events were not requested.
    if (next > after && next <= past + 1) return;
    emit({ type: "gap", after: Math.max(after, past), next });
    // Event numbers never decrease within one instance, but a new one starts lower if the server's clock was set back.
    if (next <= after) onReplaced();
    else void reconcile();
  };

  const onReplaced = (): void => end(new AcpTransportError("lost", "another agent has this id"));

  /**
   * Called after a gap: the responses to pending requests may be among the lost events. Posts these requests again
   * under their idempotency keys, which returns the lost responses, unless another instance has taken the id.
   */
  const reconcile = async (): Promise<void> => {
    // Collected before the lookup, so that the list, which is newer, includes every one that is still unanswered.
    const open = requestIds.openEvents();
    const accepted = [...requestIds.pending].filter(([, outgoing]) => outgoing.accepted);
    const state = await lookUp(http, endpoint, signal).catch(() => "unknown" as const);
    if (typeof state === "object") {
      if (state.createdAtMs * 1000 > createdUs + CREATION_SLACK_US) {
        onReplaced();
        return;
      }
      withdraw(open.filter((event) => !state.awaiting.has(event)));
    }
    for (const [wireId, outgoing] of accepted) {
      if (!requestIds.pending.has(wireId)) continue;
      try {
        if (typeof state !== "object") throw new AcpTransportError("lost", "response lost");
        const body = await post(outgoing, {
          ...common,
          url: () => endpoint.url,
          isFirst: () => false,
        });
        if (body) deliver(requestIds.fromWire(JSON.parse(body) as AnyMessage, 0));
      } catch (error) {
        fail(wireId, asTransportError(error));
      }
    }
  };

  const findStart = async (): Promise<void> => {
    const attempt = (limit: AbortSignal) => lookUp(http, endpoint, limit);
    const state = await withRetry(retry, signal, attempt, ({ status }) => status === 401);
    start = startPosition(endpoint, state, options.replay ?? "open", options.lastEventId);
    ({ past, createdUs } = start);
    position = numberOf(start.lastEventId);
    // If the server does not offer the list, nothing is sent before the event stream is open.
    if (state !== "unknown") ready.resolve();
  };

  const run = async (): Promise<never> => {
    await findStart();
    if (!start.isRunning) await messageInFlight();
    const batches = follow({
      ...common,
      url: () => start.url,
      lastEventId: start.lastEventId,
      silenceMs: options.silenceMs,
      replaysUnnumbered: true,
      endsAtExit: true,
      onMissing,
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

  // Closing.

  const detach = async (): Promise<void> => {
    // The SDK writes a message one task after the call that sends it: let it write first.
    await sleep(0, NEVER);
    await Promise.race([outbox.idle(), ended.promise]);
    detachNow();
  };

  const close = async ({ signal: limit = NEVER, ...backoff }: AcpCloseOptions = {}): Promise<void> => {
    end(new AcpTransportError("closed", "closed by this client"));
    const attempt = async (limit: AbortSignal): Promise<Response> =>
      expectOk(await http(endpoint.url, { method: "DELETE", signal: limit }));
    await withRetry({ ...retry, ...backoff }, limit, attempt, ({ status }) => status < 500 && status !== 429);
  };

  options.signal?.addEventListener("abort", detachNow, { once: true });
  if (options.signal?.aborted) detachNow();
  run().catch((error: unknown) => end(asTransportError(error)));

  return {
    readable: inbox.readable(detachNow),
    writable: new WritableStream<AnyMessage>({
      write(message) {
        signal.throwIfAborted();
        const outgoing = requestIds.toWire(message);
        if (outgoing) outbox.send(outgoing);
      },
      close: detach,
      abort: detachNow,
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

/** The event number of the agent request that an `answered` event refers to. */
function answeredEvents({ type, data }: NumberedEvent): number[] {
  return type === "answered" ? [(JSON.parse(data) as { event: number }).event] : [];
}

/** `Promise.withResolvers`, which Node.js 20 does not have. */
function deferred<T>(): { readonly promise: Promise<T>; resolve(value?: T): void } {
  let resolve: (value?: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle as (value?: T) => void;
  });
  return { promise, resolve };
}
