import { describe, expect, it } from "vitest";
import type { EventBody, Item } from "../events.ts";
import { applyUpdate, endTurn, type ItemsState, NO_ITEMS, openTool, startTurn } from "./items.ts";

const text = (value: string) => ({ type: "text", text: value }) as const;
const image = { type: "image", data: "AA", mime: "image/png" } as const;
const imageBlock = { type: "image", data: "AA", mimeType: "image/png" };
const meta = (ids: object) => ({ _meta: { "sandboxagent.dev": ids } });
const say = (content: unknown, more: object = {}) => ({ sessionUpdate: "agent_message_chunk", content, ...more });
const think = (content: unknown, more: object = {}) => ({ sessionUpdate: "agent_thought_chunk", content, ...more });
const tool = (more: object) => ({ sessionUpdate: "tool_call", ...more });
const change = (more: object) => ({ sessionUpdate: "tool_call_update", ...more });

function run(...updates: readonly unknown[]): { state: ItemsState; events: EventBody[] } {
  let state = startTurn(NO_ITEMS, "turn");
  const events: EventBody[] = [];
  for (const update of updates) {
    const step = applyUpdate(state, update);
    state = step.state;
    events.push(...step.events);
  }
  return { state, events };
}
const itemsOf = (events: readonly EventBody[], type: "item.started" | "item.completed"): Item[] =>
  events.flatMap((event) => (event.type === type ? event.item : []));
const started = (...updates: readonly unknown[]): Item[] => itemsOf(run(...updates).events, "item.started");

describe("messages", () => {
  it.each([
    ["agent_message_chunk", "message", "assistant"],
    ["agent_thought_chunk", "reasoning", "assistant"],
    ["user_message_chunk", "message", "user"],
  ])("%s is a %s of the %s", (sessionUpdate, kind, role) => {
    const { events, state } = run({ sessionUpdate, content: text("a") });
    const item = { id: "item-1", kind, role, status: "in_progress", content: [] };
    expect(events).toEqual([
      { type: "item.started", turnId: "turn", item },
      { type: "item.delta", turnId: "turn", itemId: "item-1", content: [text("a")] },
    ]);
    expect(endTurn(state)).toEqual({
      state: { open: [], count: 1 },
      events: [
        { type: "item.completed", turnId: "turn", item: { ...item, status: "completed", content: [text("a")] } },
      ],
    });
  });

  it("of different roles are different items", () => {
    const { events } = run({ sessionUpdate: "user_message_chunk", content: text("a") }, say(text("b")));
    expect(itemsOf(events, "item.started").map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  it("merge consecutive texts, and nothing else", () => {
    const content = [text("a"), text("b"), imageBlock, imageBlock, text("c"), text("d")];
    const { state } = run(...content.map((piece) => say(piece)));
    expect(itemsOf(endTurn(state).events, "item.completed")[0]?.content).toEqual([
      text("ab"),
      image,
      image,
      text("cd"),
    ]);
    const [first] = itemsOf(endTurn(run(say(imageBlock), say(text("a"))).state).events, "item.completed");
    expect(first?.content).toEqual([image, text("a")]);
  });

  it("are counted, so that items without an id have different ones", () => {
    const updates = [say(text("a")), think(text("b")), tool({}), say(text("c"))];
    expect(started(...updates).map(({ id }) => id)).toEqual(["item-1", "item-2", "item-3", "item-4"]);
    expect(run(...updates).state.count).toBe(4);
  });

  it("end when a tool call starts, and are completed once", () => {
    const { events, state } = run(say(text("a")), tool({ toolCallId: "t" }), change({ toolCallId: "t", title: "x" }));
    expect(events.map(({ type }) => type)).toEqual([
      "item.started",
      "item.delta",
      "item.completed",
      "item.started",
      "item.delta",
    ]);
    expect(state.open.map(({ item }) => item.id)).toEqual(["t"]);
  });

  it("grow while tool calls are open, which stay as they are", () => {
    const { state } = run(tool({ toolCallId: "t", title: "T" }), say(text("a")), say(text("b")));
    expect(state.open.map(({ item }) => [item.id, item.content])).toEqual([
      ["t", []],
      ["item-2", [text("ab")]],
    ]);
  });

  it("remember ids that a later chunk adds", () => {
    const updates = [
      say(text("a"), { messageId: "m" }),
      say(text("b"), { messageId: "m", ...meta({ itemId: "i", nativeItemId: "n" }) }),
      say(text("c"), meta({ itemId: "i" })),
      say(text("d"), meta({ nativeItemId: "n" })),
    ];
    expect(started(...updates)).toHaveLength(1);
  });

  it("are recognised by an id that both have, if one of them lacks a more specific one", () => {
    const byLegacy = [
      say(text("a"), meta({ itemId: "i" })),
      say(text("b"), { messageId: "m", ...meta({ itemId: "i" }) }),
    ];
    expect(started(...byLegacy)).toHaveLength(1);
    const byNative = [
      say(text("a"), meta({ nativeItemId: "n" })),
      say(text("b"), meta({ itemId: "i", nativeItemId: "n" })),
      say(text("c"), { messageId: "m", ...meta({ nativeItemId: "n" }) }),
    ];
    expect(started(...byNative)).toHaveLength(1);
  });

  it.each([
    ["legacy ids", { itemId: "i" }, { itemId: "j" }],
    ["native ids", { nativeItemId: "n" }, { nativeItemId: "o" }],
    ["ids of different kinds", { itemId: "i" }, { nativeItemId: "i" }],
    ["a native id beside none", { itemId: "i" }, { nativeItemId: "n" }],
  ])("with different %s are different items", (_, one, other) => {
    expect(started(say(text("a"), meta(one)), say(text("b"), meta(other)))).toHaveLength(2);
  });

  it("with the same legacy id are one item, whatever their native ids are", () => {
    const [one, other] = [meta({ itemId: "i", nativeItemId: "n" }), meta({ itemId: "i", nativeItemId: "o" })];
    expect(started(say(text("a"), one), say(text("b"), other))).toHaveLength(1);
  });

  it("without an id continue the open message; a chunk with an id then starts another one", () => {
    expect(started(say(text("a")), say(text("b")), say(text("c"), { messageId: "m" }))).toHaveLength(2);
  });

  it("have a native id as their id if it is the only one", () => {
    expect(started(say(text("a"), meta({ nativeItemId: "n" })))).toMatchObject([{ id: "n", nativeId: "n" }]);
  });
});

describe("the start of a message", () => {
  const mainOf = (update: unknown): string | undefined => {
    const { events, main } = applyUpdate(NO_ITEMS, update);
    return events[main]?.type;
  };

  it("may be marked in our metadata or at its root", () => {
    expect(mainOf(say(text("a"), { _meta: { phase: "started" } }))).toBe("item.started");
    expect(mainOf(say(text("a"), meta({ phase: "started" })))).toBe("item.started");
    expect(mainOf(say(text("a"), meta({ phase: "delta" })))).toBe("item.delta");
  });
});

describe("tool calls", () => {
  it("start in progress with what is known", () => {
    expect(started(tool({ toolCallId: "t", status: "completed", title: "T" }))).toEqual([
      {
        id: "t",
        nativeId: "t",
        kind: "tool_call",
        role: "tool",
        status: "in_progress",
        content: [],
        tool: { title: "T" },
      },
    ]);
  });

  it("keep their details until an update replaces them", () => {
    const first = {
      toolCallId: "t",
      title: "T",
      name: "n",
      kind: "edit",
      rawInput: { a: 1 },
      rawOutput: { b: 1 },
      locations: [{ path: "/a", line: 3 }, {}],
      content: [
        { type: "diff", path: "/a", oldText: "o", newText: "p" },
        { type: "terminal", terminalId: "term" },
        { type: "terminal" },
        { type: "content", content: text("out") },
      ],
    };
    const details = {
      title: "T",
      name: "n",
      kind: "edit",
      input: { a: 1 },
      output: { b: 1 },
      locations: [{ path: "/a", line: 3 }, { path: "" }],
      diffs: [{ path: "/a", oldText: "o", newText: "p" }],
      terminals: ["term", ""],
    };
    const { events } = run(
      tool(first),
      change({ toolCallId: "t" }),
      change({
        toolCallId: "t",
        title: "T2",
        name: "n2",
        kind: "read",
        rawInput: 1,
        rawOutput: 2,
        locations: [],
        content: [{ type: "diff" }],
      }),
      change({ toolCallId: "t", status: "completed", content: [] }),
    );
    const states = events.flatMap((event) => ("item" in event && event.item ? [event.item] : []));
    expect(states.map(({ tool: known, content }) => [known, content])).toEqual([
      [details, [text("out")]],
      [details, [text("out")]],
      [
        {
          title: "T2",
          name: "n2",
          kind: "read",
          input: 1,
          output: 2,
          locations: [],
          diffs: [{ path: "", newText: "" }],
        },
        [],
      ],
      [{ title: "T2", name: "n2", kind: "read", input: 1, output: 2, locations: [] }, []],
      [{ title: "T2", name: "n2", kind: "read", input: 1, output: 2, locations: [] }, []],
    ]);
  });

  it("run in parallel, in the order in which they started", () => {
    const { state } = run(
      tool({ toolCallId: "1" }),
      tool({ toolCallId: "2" }),
      change({ toolCallId: "1", title: "first" }),
      change({ toolCallId: "2", status: "failed" }),
    );
    expect(state.open.map(({ item }) => [item.id, item.tool?.title])).toEqual([["1", "first"]]);
  });

  it("are not taken for a message with the same id", () => {
    const { events } = run(say(text("a"), { messageId: "x" }), change({ toolCallId: "x", title: "T" }));
    expect(itemsOf(events, "item.started").map(({ kind }) => kind)).toEqual(["message", "tool_call"]);
  });

  it("without any id are different items", () => {
    expect(started(tool({ title: "a" }), tool({ title: "b" }))).toHaveLength(2);
  });

  it("with an id are not taken for one without", () => {
    const { events } = run(tool({ title: "a" }), change({ toolCallId: "t" }), change(meta({ itemId: "i" })));
    expect(itemsOf(events, "item.started")).toHaveLength(3);
  });

  it("can be looked up while they are open", () => {
    const { state } = run(
      say(text("a"), { messageId: "m" }),
      tool({ toolCallId: "t", title: "T" }),
      tool({ title: "U" }),
    );
    expect(openTool(state, "t")).toEqual({ title: "T" });
    for (const id of ["m", "u", undefined, 1]) expect(openTool(state, id)).toBeUndefined();
    const anonymous = run(tool({ title: "U" })).state;
    expect(openTool(anonymous, undefined)).toBeUndefined();
    const { state: message } = run(say(text("a"), { messageId: "m" }));
    expect(openTool(message, "m")).toBeUndefined();
  });
});

describe("changes of the session", () => {
  const type = "session.updated";

  it("leave out entries that are not objects, and fill in what is missing", () => {
    const { events } = run(
      { sessionUpdate: "available_commands_update", availableCommands: [null, "x", {}] },
      { sessionUpdate: "plan", entries: [null, 1, {}] },
    );
    expect(events).toEqual([
      { type, commands: [{ id: "", name: "" }] },
      { type, plan: [{ content: "" }] },
    ]);
  });

  it("keep the open items", () => {
    const before = run(say(text("a"))).state;
    expect(applyUpdate(before, { sessionUpdate: "plan", entries: [] }).state).toBe(before);
  });
});
