import { expect, test } from "vitest";
import { chunk, prompt, replay, sessionIn, turnEnd, update } from "../journal/testing.ts";
import { createRows } from "./rows.ts";
import { findRows, stepTo } from "./search-rows.ts";

const content = { type: "text", text: "hidden doubts" };
const tool = update("tool_call", {
  toolCallId: "t",
  title: "Read it",
  rawInput: { command: ["cat", 'a "quoted" name'] },
  rawOutput: { stdout: "first\nsecond" },
  content: [{ type: "diff", path: "/src/main.rs", oldText: "old words", newText: "new words" }],
});
const { items } = sessionIn(
  replay(
    prompt("1", "Hello there"),
    update("agent_thought_chunk", { content }),
    tool,
    chunk("The answer."),
    update("plan", { entries: [{ content: "Look around", status: "pending" }] }),
    turnEnd("1", "cancelled"),
  ),
);
const rows = createRows()(items);

test.each([
  ["hello", 0],
  ["HIDDEN doubts", 1],
  ["read it", 2],
  ['a "quoted" name', 2],
  ["first\nsecond", 2],
  ["main.rs", 2],
  ["old words", 2],
  ["new words", 2],
  ["answer", 3],
  ["look around", 4],
  ["cancelled", 5],
])("%s is found", (text, index) => expect(findRows(rows, text)).toEqual([index]));

test("text is found across the marks of Markdown", () => {
  const marked = createRows()(sessionIn(replay(chunk("the **whole** `answer`"))).items);
  expect(findRows(marked, "the whole answer")).toEqual([0]);
  expect(findRows(marked, "**whole**")).toEqual([0]);
});

test("the output of a tool's terminal is found, without its colours", () => {
  const terminal = { command: "make", output: "\u001b[32mall\u001b[0m good", exit: undefined };
  const part = update("tool_call", { toolCallId: "t", title: "T", content: [{ type: "terminal", terminalId: "x" }] });
  const [row] = createRows()(sessionIn(replay(part)).items);
  expect(findRows(row ? [row] : [], "all good", new Map([["x", terminal]]))).toEqual([0]);
  expect(findRows(row ? [row] : [], "all good")).toEqual([]);
});

test("an empty text is not found, and neither is one that no row contains", () => {
  expect(findRows(rows, "  ")).toEqual([]);
  expect(findRows(rows, "nowhere")).toEqual([]);
});

test("the first found row follows the last one, and going backwards the last one follows the first", () => {
  expect(stepTo([2, 5, 9], undefined, "next")).toBe(2);
  expect(stepTo([2, 5, 9], undefined, "previous")).toBe(9);
  expect(stepTo([2, 5, 9], 5, "next")).toBe(9);
  expect(stepTo([2, 5, 9], 9, "next")).toBe(2);
  expect(stepTo([2, 5, 9], 2, "previous")).toBe(9);
  expect(stepTo([2, 5, 9], 4, "previous")).toBe(2);
  expect(stepTo([], 4, "next")).toBeUndefined();
});
