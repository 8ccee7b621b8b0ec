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

test("a conversation that conforms has no deviations", () => {
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

test("an invalid response is reported with its method and the problem", () => {
  const request = client({ id: 0, method: "session/new", params: { cwd: "/", mcpServers: [] } });
  const found = texts(request, agent({ id: 0, result: {} }));
  assert.deepEqual(found, ["agent `session/new` (answer): it must have required property 'sessionId'"]);
});

test("the report on an invalid update has only the problems of that kind of update", () => {
  const found = texts(update({ sessionUpdate: "tool_call", toolCallId: "t" }));
  assert.deepEqual(found, ["agent `session/update` (tool_call): /update must have required property 'title'"]);
});

test("the same id on both sides identifies two requests", () => {
  const permission = { sessionId: "s", toolCall: { toolCallId: "t" }, options: [] };
  const found = texts(
    client({ id: 0, method: "initialize", params: { protocolVersion: 1 } }),
    agent({ id: 0, method: "session/request_permission", params: permission }),
    agent({ id: 0, result: { protocolVersion: 1 } }),
    client({ id: 0, result: { outcome: { outcome: "cancelled" } } }),
  );
  assert.deepEqual(found, []);
});

test("a deviation of the SDK is attributed to the client", () => {
  const found = texts(client({ id: 0, method: "session/prompt", params: { sessionId: "s" } }));
  assert.deepEqual(found, ["client `session/prompt`: it must have required property 'prompt'"]);
});

test("unknown methods are reported, extensions are not, and equal deviations are counted", () => {
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

test("unstable and removed methods are distinguished", () => {
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

test("noise and unsolicited responses are reported", () => {
  const found = texts(from("unparsed", { line: "Starting | up" }), agent({ id: 7, result: {} }));
  assert.deepEqual(found, [
    "agent prints a line that is not a message: `Starting up`",
    "agent responds to an unknown request (id `7`)",
  ]);
});
