import { expect, test } from "vitest";
import { nameOfSession } from "./session.ts";
import {
  chunk,
  fromAgent,
  type Line,
  permission,
  prompt,
  replay,
  SESSION,
  sent,
  sessionIn,
  turnEnd,
  update,
} from "./testing.ts";
import type { Item } from "./types.ts";

const brief = (item: Item): string =>
  item.type === "tool"
    ? `tool ${item.status}`
    : item.type === "notice"
      ? `notice ${item.text}`
      : item.type === "plan"
        ? `plan ${item.entries.length}`
        : `${item.type} ${item.blocks.map((block) => block.text ?? block.type).join("|")}`;
const shown = (...journal: Line[]): string[] => sessionIn(replay(...journal)).items.map(brief);

test("a prompt from any client and the chunks after it are a turn", () => {
  const open = replay(prompt("1", "hello"), chunk("Hel"), chunk("lo."));
  expect(sessionIn(open).items.map(brief)).toEqual(["user hello", "agent Hello."]);
  expect(sessionIn(open).turns).toHaveLength(1);
  expect(sessionIn(replay(prompt("1", "hello"), chunk("Hello."), turnEnd("1"))).turns).toEqual([]);
});

test("another message id, a thought or a tool call starts a new item", () => {
  expect(
    shown(
      chunk("a", "m1"),
      chunk("b", "m2"),
      update("agent_thought_chunk", { content: { type: "text", text: "hm" } }),
      update("tool_call", { toolCallId: "t", title: "T" }),
      chunk("c", "m2"),
    ),
  ).toEqual(["agent a", "agent b", "thought hm", "tool pending", "agent c"]);
});

test("an image between texts keeps its position", () => {
  const image = update("agent_message_chunk", {
    content: { type: "image", data: "AA", mimeType: "image/png" },
    messageId: "m1",
  });
  expect(shown(chunk("a"), image, chunk("b"), chunk("c"))).toEqual(["agent a|image|bc"]);
});

test("a tool call keeps the fields that an update lacks", () => {
  const { items } = sessionIn(
    replay(
      update("tool_call", { toolCallId: "t", title: "Read", kind: "read", rawInput: { path: "/a" } }),
      update("tool_call_update", { toolCallId: "t", status: "completed", rawOutput: { lines: 1 } }),
    ),
  );
  expect(items).toMatchObject([
    { title: "Read", kind: "read", status: "completed", rawInput: { path: "/a" }, rawOutput: { lines: 1 } },
  ]);
});

test("a plan is replaced within its turn, and a later turn has its own", () => {
  const plan = (count: number) => update("plan", { entries: Array(count).fill({ content: "x", status: "pending" }) });
  expect(shown(prompt("1", "a"), plan(1), chunk("b"), plan(2), turnEnd("1"), prompt("2", "c"), plan(3))).toEqual([
    "user a",
    "plan 2",
    "agent b",
    "user c",
    "plan 3",
  ]);
});

test("a cancelled turn and a failed prompt add a notice", () => {
  expect(shown(prompt("1", "a"), turnEnd("1", "cancelled"))).toEqual(["user a", "notice Cancelled."]);
  const error = { code: -32603, message: "out of luck" };
  expect(shown(prompt("1", "a"), fromAgent({ id: "1", error }))).toEqual([
    "user a",
    "notice session/prompt failed: out of luck",
  ]);
  const problem = { detail: "the agent is gone" };
  expect(shown(prompt("1", "a"), ["failed", { id: "1", problem }]).at(-1)).toContain("the agent is gone");
});

test("a user message that repeats the prompt is not shown, other user messages are", () => {
  const echo = (text: string) => update("user_message_chunk", { content: { type: "text", text } });
  expect(shown(prompt("1", "hello"), echo("hello"), chunk("x"))).toEqual(["user hello", "agent x"]);
  expect(shown(echo("from before"), chunk("x"))).toEqual(["user from before", "agent x"]);
});

test("a loaded session is replaced by its replay, and a failed load leaves it unchanged", () => {
  const load = sent({ id: "l", method: "session/load", params: { sessionId: SESSION, cwd: "/w" } });
  const before = [prompt("1", "a"), chunk("b"), turnEnd("1")] as const;
  const again = update("user_message_chunk", { content: { type: "text", text: "a" } });
  expect(shown(...before, load, again, fromAgent({ id: "l", result: {} }))).toEqual(["user a"]);
  expect(shown(...before, load, fromAgent({ id: "l", error: { message: "no" } }))).toEqual([
    "user a",
    "agent b",
    "notice session/load failed: no",
  ]);
});

test("modes and options follow changes by the client and the agent", () => {
  const options = [
    { id: "mode", category: "mode", currentValue: "ask" },
    { id: "model", category: "model", currentValue: "small" },
  ];
  const values = (...more: Line[]) =>
    sessionIn(
      replay(
        sent({ id: 1, method: "session/new", params: { cwd: "/w" } }),
        fromAgent({ id: 1, result: { sessionId: SESSION, modes: { currentModeId: "ask" }, configOptions: options } }),
        ...more,
      ),
    ).configOptions.map(({ currentValue }) => currentValue);
  expect(values()).toEqual(["ask", "small"]);
  expect(values(update("current_mode_update", { currentModeId: "code" }))).toEqual(["code", "small"]);
  const params = { sessionId: SESSION, configId: "model", value: "large" };
  const set = sent({ id: 2, method: "session/set_config_option", params });
  expect(values(set)).toEqual(["ask", "small"]);
  expect(values(set, fromAgent({ id: 2, result: {} }))).toEqual(["ask", "large"]);
});

test("a permission request is open until it is answered, and the answer adds a notice", () => {
  expect(replay(permission(7)).agentRequests).toMatchObject([{ id: 7, method: "session/request_permission" }]);
  const answer = sent({ id: 7, result: { outcome: { outcome: "selected", optionId: "no" } } });
  const settled = replay(permission(7), answer, ["answered", { id: 7, event: 1000 }]);
  expect(settled.agentRequests).toEqual([]);
  expect(sessionIn(settled).items.map(brief)).toEqual(["tool pending", "notice Edit it: Reject once"]);
});

test("a request whose answer was evicted from the journal is settled by its answered event", () => {
  expect(replay(permission(7), ["answered", { id: 7, event: 1000 }]).agentRequests).toEqual([]);
});

test("an answer to an earlier request with the same id leaves the newer one open", () => {
  expect(replay(permission(7), permission(7), ["answered", { id: 7, event: 1000 }]).agentRequests).toHaveLength(1);
});

test("the number 7 and the string 7 are different ids", () => {
  expect(replay(permission(7), permission("7"), ["answered", { id: "7", event: 1001 }]).agentRequests).toMatchObject([
    { id: 7 },
  ]);
});

test("a request that the agent cancels is no longer open", () => {
  expect(
    replay(permission(7), fromAgent({ method: "$/cancel_request", params: { requestId: 7 } })).agentRequests,
  ).toEqual([]);
});

test("requests for files and terminals are not shown to the user, and terminal output is recorded", () => {
  const instance = replay(
    fromAgent({ id: 1, method: "terminal/create", params: { sessionId: SESSION, command: "ls", args: ["-l"] } }),
    sent({ id: 1, result: { terminalId: "t" } }),
    fromAgent({ id: 2, method: "terminal/output", params: { sessionId: SESSION, terminalId: "t" } }),
    sent({ id: 2, result: { output: "file\n", exitStatus: { exitCode: 0 } } }),
  );
  expect(instance.agentRequests).toEqual([]);
  expect(instance.terminals.get("t")).toEqual({ command: "ls -l", output: "file\n", exit: "exit code 0" });
});

test("the exit of the process settles everything, and a new process continues", () => {
  const ended = replay(prompt("1", "a"), permission(7), ["exit", { code: 3, stderrTail: "oops" }]);
  expect(ended).toMatchObject({ status: "exited", agentRequests: [], exit: { code: 3 } });
  expect(sessionIn(ended).turns).toEqual([]);
  expect(sessionIn(ended).items.at(-1)).toMatchObject({ type: "notice", tone: "bad" });
  expect(replay(["exit", { code: 3 }], fromAgent({ id: 1, result: {} })).status).toBe("running");
});

test("pages of the session list are joined, and a first page replaces the list", () => {
  const page = (id: number, cursor: string | undefined, ids: string[]) =>
    [
      sent({ id, method: "session/list", params: cursor === undefined ? {} : { cursor } }),
      fromAgent({ id, result: { sessions: ids.map((sessionId) => ({ sessionId })) } }),
    ] as const;
  const first = [...page(1, undefined, ["a"]), ...page(2, "next", ["b"])];
  expect(replay(...first).listed).toHaveLength(2);
  expect(replay(...first, ...page(3, undefined, ["c"])).listed).toEqual([{ sessionId: "c" }]);
});

test("unknown messages change nothing", () => {
  const unknown = [
    ["message", null],
    ["message", [1, 2]],
    fromAgent({ method: "session/update" }),
    fromAgent({ method: "session/update", params: { sessionId: SESSION, update: null } }),
    update("something_new", {}),
    fromAgent({ id: null, error: { code: -32700 } }),
    ["unparsed", { line: "noise" }],
  ] as const satisfies Line[];
  expect(sessionIn(replay(...unknown)).items).toEqual([]);
});

test("a gap adds a notice to every session", () => {
  expect(shown(prompt("1", "hi"), chunk("a"), ["gap", { after: 1, next: 9 }], chunk("b"))).toEqual([
    "user hi",
    "agent a",
    "notice Some events are missing: the server has evicted them.",
    "agent b",
  ]);
});

test("a diff is kept when the result replaces the content", () => {
  const diff = { type: "diff", path: "/a", oldText: "1", newText: "2" };
  const done = { type: "content", content: { type: "text", text: "done" } };
  const [tool] = sessionIn(
    replay(
      update("tool_call", { toolCallId: "t", content: [diff] }),
      update("tool_call_update", { toolCallId: "t", content: [done] }),
    ),
  ).items;
  expect(tool).toMatchObject({ content: [diff, done] });
});

test("an error text includes its data", () => {
  const error = { code: -32603, message: "Internal error", data: { details: "exited with code 1" } };
  expect(shown(prompt("1", "hi"), fromAgent({ id: "1", error }))).toContain(
    "notice session/prompt failed: Internal error: exited with code 1",
  );
});

test("a session's name is its title, its first words, or its id", () => {
  const session = sessionIn(replay(prompt("1", "first words")));
  expect(nameOfSession(session)).toBe("first words");
  expect(nameOfSession({ ...session, title: "Title" })).toBe("Title");
  expect(nameOfSession({ ...session, items: [] })).toBe(SESSION);
});

test("a reported cost is rounded, and stays when an update has none", () => {
  const cost = { amount: 0.0023639999999999998, currency: "USD" };
  const costly = update("usage_update", { used: 1, size: 10, cost });
  expect(sessionIn(replay(costly)).usage?.cost).toBe("0.0024 USD");
  expect(sessionIn(replay(costly, update("usage_update", { used: 2, size: 10 }))).usage?.cost).toBe("0.0024 USD");
});

test("a turn has the times of its beginning and its end", () => {
  // One millisecond passes between two events.
  const [running] = sessionIn(replay(prompt("1", "a"), chunk("b"))).items;
  expect(running).toMatchObject({ type: "user", atMs: 0 });
  expect(running).not.toHaveProperty("endedAtMs");
  const journal = [prompt("1", "a"), chunk("b"), turnEnd("1"), prompt("2", "c"), chunk("d"), chunk("e")] as const;
  const ended = sessionIn(replay(...journal, turnEnd("2", "cancelled"))).items;
  expect(ended.filter(({ type }) => type === "user")).toMatchObject([
    { atMs: 0, endedAtMs: 2 },
    { atMs: 3, endedAtMs: 6 },
  ]);
  const crashed = sessionIn(replay(...journal, ["exit", { code: 1 }])).items;
  expect(crashed.filter(({ type }) => type === "user")[1]).toMatchObject({ atMs: 3, endedAtMs: 6 });
});

test("a tool call has its times, without the time that it waited for permission", () => {
  const tool = (status: string): Line => update("tool_call_update", { toolCallId: "t1", status });
  const quick = [
    update("tool_call", { toolCallId: "t1", title: "T" }),
    chunk("x"),
    tool("completed"),
    tool("completed"),
  ];
  expect(sessionIn(replay(...quick)).items[0]).toMatchObject({ startedAtMs: 0, endedAtMs: 2 });
  const answer = sent({ id: "p", result: { outcome: { outcome: "selected", optionId: "yes" } } });
  const asked = [permission("p"), chunk("x"), answer, tool("in_progress"), tool("failed")];
  expect(sessionIn(replay(...asked)).items[0]).toMatchObject({ startedAtMs: 3, endedAtMs: 4 });
});

test("what an agent reports again while it loads a session has no times", () => {
  const load = sent({ id: "l", method: "session/load", params: { sessionId: SESSION } });
  const again = [load, chunk("x"), update("tool_call", { toolCallId: "t", title: "T", status: "completed" })];
  const { items } = sessionIn(replay(...again, fromAgent({ id: "l", result: {} }), chunk("y", "m2")));
  expect(items[0]).toMatchObject({ type: "agent", atMs: undefined });
  expect(items[1]).toMatchObject({ startedAtMs: undefined, endedAtMs: undefined });
  expect(items[2]).toMatchObject({ atMs: 4 });
});
