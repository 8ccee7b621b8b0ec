/**
 * Who asked what. Several clients may share one agent, and each numbers its requests from 0, so on the wire every
 * request has an id that is unique to its connection; and an agent's request that somebody has answered is not
 * answered again.
 */

import type { AnyMessage, AnyRequest, AnyResponse, JsonRpcId } from "@agentclientprotocol/sdk";
import type { AcpTransportError } from "./errors.ts";

const CANCEL = "$/cancel_request";
/** JSON-RPC's code for an internal error: the agent gave no answer, so none of its codes would be true. */
const INTERNAL_ERROR = -32603;

/** A message on its way out. */
export interface Letter {
  /** Requests and notifications keep their order; answers need not wait for anything. */
  readonly kind: "request" | "notification" | "answer";
  /** The message as it goes over the wire. */
  readonly message: AnyMessage;
  /** The same as text, so that every repeat is the same to the byte. */
  readonly body: string;
  /** Names this message, so that a repeat is not a second one. */
  readonly key: string;
  /** The user's own id of a request. */
  readonly id: JsonRpcId;
  /** Whether the server has taken it. */
  accepted: boolean;
}

interface Asked {
  readonly id: JsonRpcId;
  readonly event: number;
  /** False once somebody else has answered, or nobody can any more. */
  open: boolean;
}

/** Translates between one user of the connection and the wire. */
export interface Ledger {
  /** Turns an outgoing message into a letter; `undefined` when there is nobody to send it to any more. */
  outgoing(message: AnyMessage): Letter | undefined;
  /** Turns a message of the agent into what the user gets; `undefined` when it is not for this user. */
  incoming(message: AnyMessage, event: number): AnyMessage | undefined;
  /** The agent's request that was this event is answered. Returns what tells the user to stop working on it. */
  answered(event: number): AnyMessage | undefined;
  /** This request of the user will get no answer. Returns what tells the user. */
  failed(wireId: unknown, error: AcpTransportError): AnyResponse | undefined;
  /** The user's requests that wait for an answer, by wire id. */
  readonly waiting: ReadonlyMap<unknown, Letter>;
  /** The events of the agent's requests that wait for the user. */
  openEvents(): number[];
}

/** Makes a ledger for one connection. */
export function createLedger(): Ledger {
  const prefix = randomHex(6);
  let count = 0;
  const waiting = new Map<unknown, Letter>();
  const wireIds = new Map<JsonRpcId, string>();
  const asked = new Map<JsonRpcId, Asked>();

  const letter = (kind: Letter["kind"], message: AnyMessage, id: JsonRpcId = null): Letter => ({
    id,
    kind,
    message,
    body: JSON.stringify(message),
    key: randomHex(16),
    accepted: false,
  });

  const settle = (wireId: unknown): Letter | undefined => {
    const settled = waiting.get(wireId);
    waiting.delete(wireId);
    if (settled) wireIds.delete(settled.id);
    return settled;
  };

  const request = (message: AnyRequest): Letter => {
    // An answer to null could not be told from a complaint about a broken message.
    if (message.id === null) return letter("notification", message);
    const wireId = `${prefix}-${count++}`;
    const sent = letter("request", { ...message, id: wireId }, message.id);
    waiting.set(wireId, sent);
    wireIds.set(message.id, wireId);
    return sent;
  };

  const answer = (message: AnyResponse): Letter | undefined => {
    if (message.id === null) return letter("answer", message);
    const question = asked.get(message.id);
    asked.delete(message.id);
    return question?.open ? letter("answer", { ...message, id: question.id }) : undefined;
  };

  const deliver = (message: AnyRequest, event: number): AnyRequest => {
    if (message.id === null) return message;
    // An id that the user still works on, though nobody waits for that answer, must not be taken for this one.
    const id = asked.has(message.id) ? `${message.id}@${event}` : message.id;
    asked.set(id, { id: message.id, event, open: true });
    return withRequestId({ ...message, id }, (requestId) => waiting.get(requestId)?.id);
  };

  const deliveredAs = (id: unknown): JsonRpcId | undefined => {
    for (const [delivered, question] of asked) if (question.open && question.id === id) return delivered;
    return undefined;
  };

  return {
    waiting,
    outgoing(message) {
      if (!("method" in message)) return answer(message);
      if ("id" in message) return request(message);
      if (message.method !== CANCEL) return letter("notification", message);
      const known = withRequestId(message, (id) => wireIds.get(id));
      return known === message ? undefined : letter("notification", known);
    },
    incoming(message, event) {
      if (!("method" in message)) {
        const settled = settle(message.id);
        return settled && { ...message, id: settled.id };
      }
      if ("id" in message) return deliver(message, event);
      return message.method === CANCEL ? withRequestId(message, deliveredAs) : message;
    },
    answered(event) {
      for (const [requestId, question] of asked) {
        if (question.event !== event || !question.open) continue;
        question.open = false;
        return { jsonrpc: "2.0", method: CANCEL, params: { requestId } };
      }
      return undefined;
    },
    failed(wireId, error) {
      const settled = settle(wireId);
      const details = { code: INTERNAL_ERROR, message: error.message, data: error };
      return settled && { jsonrpc: "2.0", id: settled.id, error: details };
    },
    openEvents: () => [...asked.values()].filter(({ open }) => open).map(({ event }) => event),
  };
}

/** The message with `params.requestId` replaced where the other side knows that request by another id. */
function withRequestId<M extends AnyMessage & { params?: unknown }>(
  message: M,
  translate: (id: JsonRpcId) => JsonRpcId | undefined,
): M {
  const params = message.params;
  if (typeof params !== "object" || params === null || !("requestId" in params)) return message;
  const requestId = translate(params.requestId as JsonRpcId);
  return requestId === undefined ? message : { ...message, params: { ...params, requestId } };
}

/** Not `randomUUID`, which browsers offer to secure pages only. */
function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
