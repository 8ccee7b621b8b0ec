import type { AnyMessage, AnyRequest } from "@agentclientprotocol/sdk";
import { describe, expect, test } from "vitest";
import { AcpTransportError } from "./errors.ts";
import { createRequestIds, type RequestIds } from "./request-ids.ts";

const request = (id: AnyRequest["id"], method = "session/prompt", params: unknown = {}): AnyRequest => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});
const answer = (id: AnyRequest["id"]): AnyMessage => ({ jsonrpc: "2.0", id, result: {} });
const send = (requestIds: RequestIds, message: AnyMessage): Record<string, unknown> | undefined => {
  const outgoing = requestIds.toWire(message);
  return outgoing && (JSON.parse(outgoing.body) as Record<string, unknown>);
};

describe("client requests", () => {
  test("have wire ids that are unique to the connection, and their responses carry the SDK's ids", () => {
    const [one, other] = [createRequestIds(), createRequestIds()];
    const [mine, theirs] = [send(one, request(0)), send(other, request(0))];
    expect(mine?.id).not.toEqual(theirs?.id);
    expect(one.fromWire(answer(theirs?.id as string), 1)).toBeUndefined();
    expect(one.fromWire(answer(0), 1)).toBeUndefined();
    expect(one.fromWire(answer(mine?.id as string), 1)).toEqual(answer(0));
    expect(one.fromWire(answer(mine?.id as string), 2)).toBeUndefined();
  });

  test("are cancelled under their wire id, and not after they are answered", () => {
    const requestIds = createRequestIds();
    const sent = send(requestIds, request(0));
    const cancel: AnyMessage = { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 0 } };
    expect(send(requestIds, cancel)?.params).toEqual({ requestId: sent?.id });
    requestIds.fromWire(answer(sent?.id as string), 1);
    expect(send(requestIds, cancel)).toBeUndefined();
  });

  test("fail once, with the transport's error as data", () => {
    const requestIds = createRequestIds();
    const sent = send(requestIds, request(7));
    const error = new AcpTransportError("lost", "gone");
    expect(requestIds.failed(sent?.id, error)).toMatchObject({ id: 7, error: { data: error } });
    expect(requestIds.failed(sent?.id, error)).toBeUndefined();
    expect(requestIds.pending.size).toBe(0);
  });

  test("each have their own idempotency key", () => {
    const requestIds = createRequestIds();
    const keys = [0, 1, 2].map((id) => requestIds.toWire(request(id))?.key);
    expect(new Set(keys).size).toBe(3);
  });
});

describe("agent requests", () => {
  test("that refer to a client request name it by the SDK's id", () => {
    const requestIds = createRequestIds();
    const sent = send(requestIds, request(3, "authenticate"));
    const elicitation = request(0, "elicitation/create", { requestId: sent?.id, message: "?" });
    expect(requestIds.fromWire(elicitation, 1)).toEqual(
      request(0, "elicitation/create", { requestId: 3, message: "?" }),
    );
  });

  test("are answered once", () => {
    const requestIds = createRequestIds();
    requestIds.fromWire(request(0), 5);
    expect(requestIds.openEvents()).toEqual([5]);
    expect(send(requestIds, answer(0))).toEqual(answer(0));
    expect(send(requestIds, answer(0))).toBeUndefined();
    expect(requestIds.answered(5)).toBeUndefined();
  });

  test("that another client answered are cancelled, and a late answer is dropped", () => {
    const requestIds = createRequestIds();
    requestIds.fromWire(request(0), 5);
    expect(requestIds.answered(5)).toEqual({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 0 } });
    expect(send(requestIds, answer(0))).toBeUndefined();
  });

  test("that reuse the id of a running handler are not answered by that handler", () => {
    const requestIds = createRequestIds();
    requestIds.fromWire(request(0), 5);
    requestIds.answered(5);
    const second = requestIds.fromWire(request(0), 9) as AnyRequest;
    expect(second.id).not.toBe(0);
    expect(send(requestIds, answer(0))).toBeUndefined();
    const cancel: AnyMessage = { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 0 } };
    expect(requestIds.fromWire(cancel, 10)).toEqual({ ...cancel, params: { requestId: second.id } });
    expect(send(requestIds, answer(second.id))).toEqual(answer(0));
  });
});
