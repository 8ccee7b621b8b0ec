import { describe, expect, it } from "vitest";
import type { EventBody } from "../events.ts";
import {
  AGENT_ERROR,
  AGENT_UNPARSED,
  agentErrorOf,
  eventOf,
  processEnded,
  SESSION_ENDED,
  sessionEndedOf,
  unparsedLine,
  unparsedOf,
} from "./events.ts";
import { applyUpdate, endTurn, type ItemsState, NO_ITEMS, startTurn } from "./items.ts";

const text = (value: string) => ({ type: "text", text: value });
const chunk = (sessionUpdate: string, value: string, more = {}) => ({ sessionUpdate, content: text(value), ...more });

function run(updates: readonly unknown[], from: ItemsState = NO_ITEMS) {
  let state = from;
  const events: EventBody[] = [];
  for (const update of updates) {
    const step = applyUpdate(state, update);
    state = step.state;
    events.push(...step.events);
  }
  return { state, events, types: events.map(({ type }) => type) };
}

describe("items", () => {
  it("a message starts with its first chunk, grows, and is completed when its turn ends", () => {
    const { state, events, types } = run(
      [chunk("agent_message_chunk", "Hel"), chunk("agent_message_chunk", "lo")],
      startTurn(NO_ITEMS, "t1"),
    );
    expect(types).toEqual(["item.started", "item.delta", "item.delta"]);
    expect(events[0]).toMatchObject({ turnId: "t1", item: { kind: "message", role: "assistant", content: [] } });
    expect(events[2]).toMatchObject({ itemId: "item-1", content: [text("lo")] });
    const end = endTurn(state);
    expect(end.events).toMatchObject([
      { type: "item.completed", turnId: "t1", item: { id: "item-1", status: "completed", content: [text("Hello")] } },
    ]);
    expect(end.state.open).toEqual([]);
  });

  it("thoughts are reasoning items, and are completed when a message starts", () => {
    const { types, events } = run([chunk("agent_thought_chunk", "Hm"), chunk("agent_message_chunk", "Yes")]);
    expect(types).toEqual(["item.started", "item.delta", "item.completed", "item.started", "item.delta"]);
    expect(events[2]).toMatchObject({ item: { kind: "reasoning", content: [text("Hm")] } });
  });

  it("messages are distinguished by their id, if the agent sends one", () => {
    const { types, events } = run([
      chunk("agent_message_chunk", "a", { messageId: "m1" }),
      chunk("agent_message_chunk", "b", { messageId: "m1" }),
      chunk("agent_message_chunk", "c", { messageId: "m2" }),
    ]);
    expect(types).toEqual(["item.started", "item.delta", "item.delta", "item.completed", "item.started", "item.delta"]);
    expect(events[4]).toMatchObject({ item: { id: "m2", nativeId: "m2" } });
  });

  it("a user message chunk is a message with the role user", () => {
    expect(run([chunk("user_message_chunk", "hi")]).events[0]).toMatchObject({ item: { role: "user" } });
  });

  it("a tool call starts, is updated and is completed with all its details", () => {
    const { types, events } = run([
      { sessionUpdate: "tool_call", toolCallId: "t", title: "Read", kind: "read", rawInput: { path: "/a" } },
      { sessionUpdate: "tool_call_update", toolCallId: "t", status: "in_progress" },
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "t",
        content: [
          { type: "content", content: text("half") },
          { type: "diff", path: "/a", newText: "n" },
        ],
      },
      { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed", rawOutput: { lines: 1 } },
    ]);
    expect(types).toEqual(["item.started", "item.delta", "item.delta", "item.completed"]);
    expect(events[3]).toMatchObject({
      item: {
        id: "t",
        kind: "tool_call",
        status: "completed",
        content: [text("half")],
        tool: {
          title: "Read",
          kind: "read",
          input: { path: "/a" },
          output: { lines: 1 },
          diffs: [{ path: "/a", newText: "n" }],
        },
      },
    });
  });

  it("a tool call that fails is completed as failed", () => {
    const { events } = run([
      { sessionUpdate: "tool_call", toolCallId: "t", title: "x" },
      { sessionUpdate: "tool_call_update", toolCallId: "t", status: "failed" },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "item.completed", item: { status: "failed" } });
  });

  it("a tool call that begins with an update, or is completed at once, still has a start", () => {
    expect(run([{ sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" }]).types).toEqual([
      "item.started",
      "item.completed",
    ]);
  });

  it("legacy ids in metadata are kept", () => {
    const _meta = { "sandboxagent.dev": { itemId: "legacy-1", parentId: "p", nativeItemId: "n" } };
    const { events } = run([
      chunk("agent_message_chunk", "a", { _meta }),
      chunk("agent_message_chunk", "b", { _meta }),
    ]);
    expect(events).toMatchObject([
      { item: { id: "legacy-1", parentId: "p", nativeId: "n" } },
      { itemId: "legacy-1" },
      { itemId: "legacy-1" },
    ]);
  });

  it.each([
    ["camel case", { itemId: "i", nativeItemId: "n", parentId: "p" }],
    ["snake case", { item_id: "i", native_item_id: "n", parent_id: "p" }],
  ])("a tool call whose updates carry legacy ids in %s is one item", (_, ids) => {
    const _meta = { "sandboxagent.dev": ids };
    const { types, events, state } = run([
      { sessionUpdate: "tool_call", toolCallId: "t", title: "Read", _meta },
      { sessionUpdate: "tool_call_update", toolCallId: "t", status: "in_progress", _meta },
      { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed", _meta },
    ]);
    expect(types).toEqual(["item.started", "item.delta", "item.completed"]);
    expect(events).toMatchObject([
      { item: { id: "i", nativeId: "n", parentId: "p" } },
      { itemId: "i", item: { id: "i", tool: { title: "Read" } } },
      { item: { id: "i", nativeId: "n", parentId: "p", status: "completed" } },
    ]);
    expect(state.open).toEqual([]);
  });

  it("an update belongs to a tool call even if it names only one of the tool call's ids", () => {
    const meta = (ids: object) => ({ _meta: { "sandboxagent.dev": ids } });
    const { types, events } = run([
      { sessionUpdate: "tool_call", toolCallId: "t", ...meta({ item_id: "i", native_item_id: "n" }) },
      { sessionUpdate: "tool_call_update", toolCallId: "t", title: "by its own id" },
      { sessionUpdate: "tool_call_update", title: "by its legacy id", ...meta({ item_id: "i" }) },
      { sessionUpdate: "tool_call_update", status: "completed", ...meta({ native_item_id: "n" }) },
    ]);
    expect(types).toEqual(["item.started", "item.delta", "item.delta", "item.completed"]);
    expect(events.at(-1)).toMatchObject({ item: { id: "i", nativeId: "n", tool: { title: "by its legacy id" } } });
  });

  it("tool calls are different items even if the legacy id of one is the tool call id of the other", () => {
    const meta = (itemId: string) => ({ _meta: { "sandboxagent.dev": { itemId } } });
    const { types, state } = run([
      { sessionUpdate: "tool_call", toolCallId: "1", ...meta("2") },
      { sessionUpdate: "tool_call", toolCallId: "2", ...meta("3") },
    ]);
    expect(types).toEqual(["item.started", "item.started"]);
    expect(state.open.map(({ item }) => item.id)).toEqual(["2", "3"]);
  });

  it("the agent's own id of an item is its message or tool call id, unless metadata names another one", () => {
    const meta = { _meta: { "sandboxagent.dev": { itemId: "i" } } };
    const { events } = run([
      { sessionUpdate: "tool_call", toolCallId: "t", ...meta },
      chunk("agent_message_chunk", "a", { messageId: "m", ...meta }),
      chunk("agent_thought_chunk", "a", meta),
    ]);
    const started = events.flatMap((event) => (event.type === "item.started" ? event.item : []));
    expect(started.map(({ id, nativeId }) => [id, nativeId])).toEqual([
      ["i", "t"],
      ["i", "m"],
      ["i", undefined],
    ]);
  });

  it("all other updates change the session, and unknown ones are preserved", () => {
    const { events } = run([
      { sessionUpdate: "session_info_update", title: "T" },
      { sessionUpdate: "current_mode_update", currentModeId: "plan" },
      { sessionUpdate: "config_option_update", configOptions: [] },
      { sessionUpdate: "available_commands_update", availableCommands: [{ name: "help", description: "d" }] },
      { sessionUpdate: "usage_update", used: 1, size: 2 },
      { sessionUpdate: "plan", entries: [{ content: "c", priority: "high", status: "pending" }] },
      { sessionUpdate: "brand_new", x: 1 },
    ]);
    const type = "session.updated";
    expect(events).toEqual([
      { type, title: "T" },
      { type, mode: "plan" },
      { type, options: [] },
      { type, commands: [{ id: "help", name: "help", description: "d" }] },
      { type, usage: { used: 1, size: 2 } },
      { type, plan: [{ content: "c", priority: "high", status: "pending" }] },
      { type, unknown: { sessionUpdate: "brand_new", x: 1 } },
    ]);
  });

  it("depend on nothing but the updates", () => {
    const updates = [chunk("agent_message_chunk", "a"), { sessionUpdate: "tool_call", toolCallId: "t", title: "x" }];
    expect(run(updates)).toEqual(run(updates));
  });
});

describe("Sandbox Agent's notifications", () => {
  it("session/ended carries reason, terminatedBy, message and exitCode, in either spelling", () => {
    const expected = { type: "session.ended", reason: "error", terminatedBy: "agent", message: "m", exitCode: 3 };
    expect(sessionEndedOf({ reason: "error", terminatedBy: "agent", message: "m", exitCode: 3 })).toEqual(expected);
    expect(sessionEndedOf({ reason: "error", terminated_by: "agent", message: "m", exit_code: 3 })).toEqual(expected);
    expect(sessionEndedOf({ data: { reason: "error", terminatedBy: "agent", message: "m", exitCode: 3 } })).toEqual(
      expected,
    );
    expect(sessionEndedOf(null)).toEqual({ type: "session.ended", reason: "unknown", terminatedBy: "agent" });
  });

  it("agent/unparsed carries error, location and hash", () => {
    expect(unparsedOf({ error: "e", location: "l", rawHash: "h" })).toEqual({
      type: "agent.unparsed",
      error: "e",
      location: "l",
      rawHash: "h",
    });
    expect(unparsedOf({ error: "e", location: "l", raw_hash: "h" })).toMatchObject({ rawHash: "h" });
  });

  it("a line that is not a message becomes the same event", () => {
    expect(unparsedLine({ line: "noise", error: "e" })).toEqual({
      type: "agent.unparsed",
      error: "e",
      location: "agent stdout",
      line: "noise",
    });
  });

  it("an error that belongs to no request keeps its code and details", () => {
    expect(agentErrorOf({ message: "m", code: "c", details: { x: 1 } })).toEqual({
      type: "error",
      message: "m",
      code: "c",
      details: { x: 1 },
    });
  });
});

describe("notifications without details", () => {
  it("have a text of their own", () => {
    const error = "the agent printed a line that is not a message";
    expect(unparsedOf({})).toEqual({ type: "agent.unparsed", error });
    expect(unparsedLine({ line: "x" })).toMatchObject({ error });
    expect(agentErrorOf({})).toEqual({ type: "error", message: "the agent reported an error" });
    expect(agentErrorOf({ code: 7, data: 1 })).toMatchObject({ code: 7, details: 1 });
  });

  it("name who ended a session in either spelling", () => {
    expect(sessionEndedOf({ terminatedBy: "client" })).toMatchObject({ terminatedBy: "client" });
    expect(sessionEndedOf({ terminated_by: "client" })).toMatchObject({ terminatedBy: "client" });
  });

  it("have names of their own", () => {
    expect([SESSION_ENDED, AGENT_UNPARSED, AGENT_ERROR]).toEqual([
      "_sandboxagent/session/ended",
      "_sandboxagent/agent/unparsed",
      "_sandboxagent/error",
    ]);
  });
});

describe("the exit of a process", () => {
  it.each([
    [{ code: 0 }, { reason: "completed", terminatedBy: "agent", exitCode: 0 }],
    [
      { code: 3, stderrTail: "boom" },
      { reason: "error", terminatedBy: "agent", message: "boom", exitCode: 3 },
    ],
    [{ signal: "SIGKILL" }, { reason: "error", terminatedBy: "agent", message: "killed by SIGKILL" }],
    [{ error: "closed" }, { reason: "terminated", terminatedBy: "daemon", message: "closed" }],
    [
      { code: 0, error: "lost" },
      { reason: "error", terminatedBy: "agent", message: "lost", exitCode: 0 },
    ],
    [{ error: "spawn_failed" }, { reason: "error", terminatedBy: "agent", message: "spawn_failed" }],
  ])("%j", (end, expected) => expect(processEnded(end)).toEqual({ type: "session.ended", ...expected }));
});

describe("the envelope of events from older versions", () => {
  const base = { id: "new", sessionId: "s", time: "now" };
  const body: EventBody = { type: "error", message: "m" };
  const legacyEvent = {
    eventId: "old",
    sequence: 42,
    source: "daemon",
    synthetic: true,
    nativeSessionId: "thread",
  };
  const _meta = { "sandboxagent.dev": { legacyEvent } };
  const expected = { ...base, ...body, id: "old", sequence: 42, source: "daemon", synthetic: true };

  it("is absent from most messages: the event has the common fields", () => {
    expect(eventOf(body, base)).toEqual({ ...base, source: "agent", synthetic: false, ...body });
    expect(eventOf(body, base, { source: "client", synthetic: true })).toMatchObject({
      source: "client",
      synthetic: true,
    });
  });

  it.each([
    ["beside the update", { update: { sessionUpdate: "plan" }, _meta }],
    ["in the update", { update: { sessionUpdate: "plan", _meta } }],
  ])("takes precedence over the common fields if it is %s", (_, message) => {
    expect(eventOf(body, base, { message })).toEqual({ ...expected, agentSessionId: "thread" });
  });

  it("is read in snake case, too", () => {
    const snake = { event_id: "old", sequence: 42, native_session_id: "thread" };
    const message = { _meta: { "sandboxagent.dev": { legacyEvent: snake } } };
    expect(eventOf(body, base, { message })).toMatchObject({ id: "old", sequence: 42, agentSessionId: "thread" });
  });

  it("gives its id to the main event of a message; the other events of that message have ids of their own", () => {
    const event = eventOf(body, base, { message: { _meta }, isDerived: true });
    expect(event).toEqual({ ...base, ...body, source: "daemon", synthetic: true });
  });
});

describe("the main event of an update", () => {
  const mainOf = (updates: readonly unknown[]): unknown => {
    const before = updates
      .slice(0, -1)
      .reduce((state: ItemsState, update) => applyUpdate(state, update).state, NO_ITEMS);
    const { events, main } = applyUpdate(before, updates.at(-1));
    return events[main]?.type;
  };
  const started = { "sandboxagent.dev": { phase: "started" } };

  it.each<[string, unknown[], string]>([
    ["the first chunk of a message", [chunk("agent_message_chunk", "a")], "item.delta"],
    ["a first chunk in the phase `started`", [chunk("agent_message_chunk", "a", { _meta: started })], "item.started"],
    [
      "a later chunk in the phase `started`",
      [chunk("agent_message_chunk", "a"), chunk("agent_message_chunk", "b", { _meta: started })],
      "item.delta",
    ],
    ["a message after a thought", [chunk("agent_thought_chunk", "a"), chunk("agent_message_chunk", "b")], "item.delta"],
    ["a new tool call", [{ sessionUpdate: "tool_call", toolCallId: "t" }], "item.started"],
    [
      "a new tool call that ends a message",
      [chunk("agent_message_chunk", "a"), { sessionUpdate: "tool_call", toolCallId: "t" }],
      "item.started",
    ],
    [
      "a new tool call that is completed already",
      [{ sessionUpdate: "tool_call", toolCallId: "t", status: "completed" }],
      "item.started",
    ],
    [
      "an update that completes an unknown tool call",
      [{ sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" }],
      "item.completed",
    ],
    ["an update of an unknown tool call", [{ sessionUpdate: "tool_call_update", toolCallId: "t" }], "item.started"],
    [
      "an update that completes a tool call with content",
      [
        { sessionUpdate: "tool_call", toolCallId: "t" },
        { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed", content: [] },
      ],
      "item.completed",
    ],
    ["a change of the session", [{ sessionUpdate: "plan", entries: [] }], "session.updated"],
  ])("%s", (_, updates, type) => expect(mainOf(updates)).toBe(type));
});
