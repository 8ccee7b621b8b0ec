/**
 * Translates request ids. Several clients may share one agent, and each client's SDK numbers its requests from 0, so
 * every request is sent under another id that no other connection uses. Also makes sure that no agent request is
 * answered twice.
 */

import type { AnyMessage, AnyRequest, AnyResponse, JsonRpcId } from "@agentclientprotocol/sdk";
import type { AcpTransportError } from "./errors.ts";
import { randomHex } from "./random.ts";

const CANCEL = "$/cancel_request";
/** JSON-RPC's code for an internal error. The agent did not answer, so none of its own codes applies. */
const INTERNAL_ERROR = -32603;

/** A message on its way to the server. */
export interface Outgoing {
  /** Requests and notifications keep their order; responses are independent. */
  readonly kind: "request" | "notification" | "response";
  /** The message with its wire id. */
  readonly message: AnyMessage;
  /** The message as text, so that every attempt sends identical bytes. */
  readonly body: string;
  /** The idempotency key. */
  readonly key: string;
  /** The id that the SDK gave to the request. */
  readonly id: JsonRpcId;
  /** True once the server has accepted the message. */
  accepted: boolean;
}

interface AgentRequest {
  readonly id: JsonRpcId;
  readonly event: number;
  /** False once another client has answered, or the agent no longer waits. */
  open: boolean;
}

/** Translates between the SDK's messages and those on the wire. */
export interface RequestIds {
  /** Prepares a message for sending; `undefined` if its recipient no longer waits for it. */
  toWire(message: AnyMessage): Outgoing | undefined;
  /** Translates a message from the agent for the SDK; `undefined` when it is for another client. */
  fromWire(message: AnyMessage, event: number): AnyMessage | undefined;
  /**
   * Marks the agent request that was delivered as this event as answered. Returns the notification that cancels the
   * SDK's handler.
   */
  answered(event: number): AnyMessage | undefined;
  /** Marks a client request as failed. Returns the response that rejects the SDK's call. */
  failed(wireId: unknown, error: AcpTransportError): AnyResponse | undefined;
  /** The client requests that await a response, by wire id. */
  readonly pending: ReadonlyMap<unknown, Outgoing>;
  /** The event numbers of the agent requests that this client has not answered yet. */
  openEvents(): number[];
}

/** Makes the translator of one connection. */
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
    // A response with the id `null` reports a malformed message; it must not be mistaken for the response to this
    // request.
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
    // A handler may still be running for an earlier request with this id. Its late answer must not be taken for the
    // answer to the new one.
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

/** Replaces `params.requestId` with the id under which the recipient knows that request. */
function withRequestId<M extends AnyMessage & { params?: unknown }>(
  message: M,
  translate: (id: JsonRpcId) => JsonRpcId | undefined,
): M {
  const params = message.params;
  if (typeof params !== "object" || params === null || !("requestId" in params)) return message;
  const requestId = translate(params.requestId as JsonRpcId);
  return requestId === undefined ? message : { ...message, params: { ...params, requestId } };
}
