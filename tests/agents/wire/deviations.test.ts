import assert from "node:assert/strict";
import { test } from "node:test";
import { deviationsOf } from "./deviations.ts";
import type { Entry } from "./journal.ts";

const from = (type: Entry["type"], data: unknown): Entry => ({ serverId: "a", type, data });
const agent = (data: object): Entry => from("message", { jsonrpc: "2.0", ...data });
const client = (data: object): Entry => from("sent", { jsonrpc: "2.0", ...data });
const update = (change: object): Entry =>
  agent({ method: "session/update", params: { sessionId: "s", update: change } });
const texts = (...entries: Entry[]): string[] => deviationsOf(entries).map(({ by, text }) => `${by} ${text}`);

test("a conversation as the protocol wants it has no deviations", () => {
  const chunk = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hello" } };
  const found = texts(
    client({ id: 0, method: "initialize", params: { protocolVersion: 1 } }),
    agent({ id: 0, result: { protocolVersion: 1 } }),
    client({ id: 1, method: "session/new", params: { cwd: "/", mcpServers: [] } }),
    agent({ id: 1, result: { sessionId: "s" } }),
    client({ id: 2, method: "session/prompt", params: { sessionId: "s", prompt: [{ type: "text", text: "hi" }] } }),
    update(chunk),
    agent({ id: 2, result: { stopReason: "end_turn" } }),
  );
  assert.deepEqual(found, []);
});

test("a wrong answer is told with the method that it answers and what is wrong with it", () => {
  const request = client({ id: 0, method: "session/new", params: { cwd: "/", mcpServers: [] } });
  const found = texts(request, agent({ id: 0, result: {} }));
  assert.deepEqual(found, ["agent `session/new` (answer): it must have required property 'sessionId'"]);
});

test("of a wrong update only what is wrong with its own kind is told", () => {
  const found = texts(update({ sessionUpdate: "tool_call", toolCallId: "t" }));
  assert.deepEqual(found, ["agent `session/update` (tool_call): /update must have required property 'title'"]);
});

test("an id of the agent and the same id of the client are two requests", () => {
  const permission = { sessionId: "s", toolCall: { toolCallId: "t" }, options: [] };
  const found = texts(
    client({ id: 0, method: "initialize", params: { protocolVersion: 1 } }),
    agent({ id: 0, method: "session/request_permission", params: permission }),
    agent({ id: 0, result: { protocolVersion: 1 } }),
    client({ id: 0, result: { outcome: { outcome: "cancelled" } } }),
  );
  assert.deepEqual(found, []);
});

test("what our own client does wrong is its own", () => {
  const found = texts(client({ id: 0, method: "session/prompt", params: { sessionId: "s" } }));
  assert.deepEqual(found, ["client `session/prompt`: it must have required property 'prompt'"]);
});

test("methods outside of the protocol are told, extensions are not, and the same thing twice is told once", () => {
  const entries = [
    agent({ method: "_vendor/thing", params: {} }),
    agent({ method: "vendor/thing", params: {} }),
    agent({ method: "vendor/thing", params: {} }),
  ];
  const [found, ...others] = deviationsOf(entries);
  assert.equal(found?.count, 2);
  assert.match(found?.text ?? "", /^`vendor\/thing`: the protocol has no such method/);
  assert.deepEqual(others, []);
});

test("what is not stable yet and what is no longer in the protocol are told apart", () => {
  const found = texts(
    client({ id: 0, method: "session/fork", params: { sessionId: "s", cwd: "/", mcpServers: [] } }),
    client({ id: 1, method: "session/set_model", params: { sessionId: "s", modelId: "m" } }),
    agent({ id: 1, result: {} }),
  );
  assert.deepEqual(found, [
    "client `session/fork`: not stable yet",
    "agent `session/set_model` (answer): no longer in the protocol",
  ]);
});

test("noise and answers that nobody asked for are told", () => {
  const found = texts(from("unparsed", { line: "Starting | up" }), agent({ id: 7, result: {} }));
  assert.deepEqual(found, [
    "agent answers a request that nobody made (id `7`)",
    "agent prints what is no message: `Starting up`",
  ]);
});
