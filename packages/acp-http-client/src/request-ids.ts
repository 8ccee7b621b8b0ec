/**
 * Who agentRequests what. Several clients may share one agent, and each numbers its requests from 0, so on the wire every
 * request has an id that is unique to its connection; and an agent's request that somebody has answered is not
 * answered again.
 */

import type { AnyMessage, AnyRequest, AnyResponse, JsonRpcId } from "@agentclientprotocol/sdk";
import type { AcpTransportError } from "./errors.ts";
import { randomHex } from "./random.ts";

const CANCEL = "$/cancel_request";
/** JSON-RPC's code for an internal error: the agent gave no answer, so none of its codes would be true. */
const INTERNAL_ERROR = -32603;

/** A message on its way out. */
export interface Outgoing {
  /** Requests and notifications keep their order; answers need not wait for anything. */
  readonly kind: "request" | "notification" | "response";
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

interface AgentRequest {
  readonly id: JsonRpcId;
  readonly event: number;
  /** False once somebody else has answered, or nobody can any more. */
  open: boolean;
}

/** Translates between one user of the connection and the wire. */
export interface RequestIds {
  /** Turns an outgoing message into a letter; `undefined` when there is nobody to send it to any more. */
  toWire(message: AnyMessage): Outgoing | undefined;
  /** Turns a message of the agent into what the user gets; `undefined` when it is not for this user. */
  fromWire(message: AnyMessage, event: number): AnyMessage | undefined;
  /** The agent's request that was this event is answered. Returns what tells the user to stop working on it. */
  answered(event: number): AnyMessage | undefined;
  /** This request of the user will get no answer. Returns what tells the user. */
  failed(wireId: unknown, error: AcpTransportError): AnyResponse | undefined;
  /** The user's requests that wait for an answer, by wire id. */
  readonly pending: ReadonlyMap<unknown, Outgoing>;
  /** The events of the agent's requests that wait for the user. */
  openEvents(): number[];
}

/** Makes a requestIds for one connection. */
export function createRequestIds(): RequestIds {
  const prefix = randomHex(6);
  let count = 0;
  const pending = new Map<unknown, Outgoing>();
  const wireIds = new Map<JsonRpcId, string>();
  const agentRequests = new Map<JsonRpcId, AgentRequest>();

  const outgoing = (kind: Outgoing["kind"], message: AnyMessage, id: JsonRpcId = null): Outgoing => ({
    id,
    kind,
    message,
    body: JSON.stringify(message),
    key: randomHex(16),
    accepted: false,
  });

  const settle = (wireId: unknown): Outgoing | undefined => {
    const settled = pending.get(wireId);
    pending.delete(wireId);
    if (settled) wireIds.delete(settled.id);
    return settled;
  };

  const request = (message: AnyRequest): Outgoing => {
    // An answer to null could not be told from a complaint about a broken message.
    if (message.id === null) return outgoing("notification", message);
    const wireId = `${prefix}-${count++}`;
    const sent = outgoing("request", { ...message, id: wireId }, message.id);
    pending.set(wireId, sent);
    wireIds.set(message.id, wireId);
    return sent;
  };

  const response = (message: AnyResponse): Outgoing | undefined => {
    if (message.id === null) return outgoing("response", message);
    const agentRequest = agentRequests.get(message.id);
    agentRequests.delete(message.id);
    return agentRequest?.open ? outgoing("response", { ...message, id: agentRequest.id }) : undefined;
  };

  const deliver = (message: AnyRequest, event: number): AnyRequest => {
    if (message.id === null) return message;
    // An id that the user still works on, though nobody waits for that answer, must not be taken for this one.
    const id = agentRequests.has(message.id) ? `${message.id}@${event}` : message.id;
    agentRequests.set(id, { id: message.id, event, open: true });
    return withRequestId({ ...message, id }, (requestId) => pending.get(requestId)?.id);
  };

  const deliveredAs = (id: unknown): JsonRpcId | undefined => {
    for (const [delivered, agentRequest] of agentRequests)
      if (agentRequest.open && agentRequest.id === id) return delivered;
    return undefined;
  };

  return {
    pending,
    toWire(message) {
      if (!("method" in message)) return response(message);
      if ("id" in message) return request(message);
      if (message.method !== CANCEL) return outgoing("notification", message);
      const known = withRequestId(message, (id) => wireIds.get(id));
      return known === message ? undefined : outgoing("notification", known);
    },
    fromWire(message, event) {
      if (!("method" in message)) {
        const settled = settle(message.id);
        return settled && { ...message, id: settled.id };
      }
      if ("id" in message) return deliver(message, event);
      return message.method === CANCEL ? withRequestId(message, deliveredAs) : message;
    },
    answered(event) {
      for (const [requestId, agentRequest] of agentRequests) {
        if (agentRequest.event !== event || !agentRequest.open) continue;
        agentRequest.open = false;
        return { jsonrpc: "2.0", method: CANCEL, params: { requestId } };
      }
      return undefined;
    },
    failed(wireId, error) {
      const settled = settle(wireId);
      const details = { code: INTERNAL_ERROR, message: error.message, data: error };
      return settled && { jsonrpc: "2.0", id: settled.id, error: details };
    },
    openEvents: () => [...agentRequests.values()].filter(({ open }) => open).map(({ event }) => event),
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
