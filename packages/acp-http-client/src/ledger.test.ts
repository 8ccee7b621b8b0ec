import type { AnyMessage, AnyRequest } from "@agentclientprotocol/sdk";
import { describe, expect, test } from "vitest";
import { AcpTransportError } from "./errors.ts";
import { createLedger, type Ledger } from "./ledger.ts";

const request = (id: AnyRequest["id"], method = "session/prompt", params: unknown = {}): AnyRequest => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});
const answer = (id: AnyRequest["id"]): AnyMessage => ({ jsonrpc: "2.0", id, result: {} });
const send = (ledger: Ledger, message: AnyMessage): Record<string, unknown> | undefined => {
  const letter = ledger.outgoing(message);
  return letter && (JSON.parse(letter.body) as Record<string, unknown>);
};

describe("requests of the user", () => {
  test("have ids on the wire that no other connection has, and come back under their own", () => {
    const [one, other] = [createLedger(), createLedger()];
    const [mine, theirs] = [send(one, request(0)), send(other, request(0))];
    expect(mine?.id).not.toEqual(theirs?.id);
    expect(one.incoming(answer(theirs?.id as string), 1)).toBeUndefined();
    expect(one.incoming(answer(0), 1)).toBeUndefined();
    expect(one.incoming(answer(mine?.id as string), 1)).toEqual(answer(0));
    expect(one.incoming(answer(mine?.id as string), 2)).toBeUndefined();
  });

  test("are cancelled under their wire id, and not at all once they are answered", () => {
    const ledger = createLedger();
    const sent = send(ledger, request(0));
    const cancel: AnyMessage = { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 0 } };
    expect(send(ledger, cancel)?.params).toEqual({ requestId: sent?.id });
    ledger.incoming(answer(sent?.id as string), 1);
    expect(send(ledger, cancel)).toBeUndefined();
  });

  test("fail once, with the transport's error as data", () => {
    const ledger = createLedger();
    const sent = send(ledger, request(7));
    const error = new AcpTransportError("lost", "gone");
    expect(ledger.failed(sent?.id, error)).toMatchObject({ id: 7, error: { data: error } });
    expect(ledger.failed(sent?.id, error)).toBeUndefined();
    expect(ledger.waiting.size).toBe(0);
  });

  test("each have a key of their own", () => {
    const ledger = createLedger();
    const keys = [0, 1, 2].map((id) => ledger.outgoing(request(id))?.key);
    expect(new Set(keys).size).toBe(3);
  });
});

describe("requests of the agent", () => {
  test("that are tied to a request of the user name it as the user does", () => {
    const ledger = createLedger();
    const sent = send(ledger, request(3, "authenticate"));
    const elicitation = request(0, "elicitation/create", { requestId: sent?.id, message: "?" });
    expect(ledger.incoming(elicitation, 1)).toEqual(request(0, "elicitation/create", { requestId: 3, message: "?" }));
  });

  test("are answered once by the user", () => {
    const ledger = createLedger();
    ledger.incoming(request(0), 5);
    expect(ledger.openEvents()).toEqual([5]);
    expect(send(ledger, answer(0))).toEqual(answer(0));
    expect(send(ledger, answer(0))).toBeUndefined();
    expect(ledger.answered(5)).toBeUndefined();
  });

  test("that somebody else answered are withdrawn, and a late answer goes nowhere", () => {
    const ledger = createLedger();
    ledger.incoming(request(0), 5);
    expect(ledger.answered(5)).toEqual({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 0 } });
    expect(send(ledger, answer(0))).toBeUndefined();
  });

  test("under an id that the user still works on are not answered by that older work", () => {
    const ledger = createLedger();
    ledger.incoming(request(0), 5);
    ledger.answered(5);
    const second = ledger.incoming(request(0), 9) as AnyRequest;
    expect(second.id).not.toBe(0);
    expect(send(ledger, answer(0))).toBeUndefined();
    const cancel: AnyMessage = { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 0 } };
    expect(ledger.incoming(cancel, 10)).toEqual({ ...cancel, params: { requestId: second.id } });
    expect(send(ledger, answer(second.id))).toEqual(answer(0));
  });
});
