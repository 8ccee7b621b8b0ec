import { expect, test } from "vitest";
import { createPairs } from "../journal/pairs.ts";
import { chunk, journalEvents, prompt, turnEnd } from "../journal/testing.ts";
import { sizeText } from "../text/size.ts";
import { exportEvents, matches, rowOf, sizeOf } from "./event-row.ts";

const journal = journalEvents([
  prompt("1", "héllo"),
  chunk("there"),
  turnEnd("1"),
  ["unparsed", { line: "noise", bytes: 5 }],
  ["exit", { code: 3 }],
  ["gap", { after: 4, next: 9 }],
]);
const pairs = createPairs();
for (const event of journal) pairs.add(event);

test("a row summarises its event", () => {
  expect(journal.map((event) => rowOf(event, pairs).summary)).toEqual([
    "session/prompt",
    "agent_message_chunk · session/update",
    "result of session/prompt",
    "unparsed: noise",
    "exit 3",
    "gap: events between 4 and 9 are lost",
  ]);
  expect(journal.map((event) => rowOf(event, pairs).sign).join("")).toBe("→←←···");
  expect(journal.map((event) => rowOf(event, pairs).latency)).toEqual(["2 ms", "", "2 ms", "", "", ""]);
});

test("sizes are bytes, not characters", () => {
  const [first] = journal;
  expect(first && sizeOf(first)).toBe(JSON.stringify(first?.data).length + 1);
  expect([10, 2048, 3 << 20].map(sizeText)).toEqual(["10 B", "2.0 kB", "3.0 MB"]);
});

test("a filter matches the direction and all words, in any order", () => {
  const found = (direction: "all" | "sent" | "message" | "other", text: string): number[] =>
    journal.filter((event) => matches(event, pairs, { direction, text })).map(({ index }) => index);
  expect(found("sent", "")).toEqual([0]);
  expect(found("other", "")).toEqual([3, 4, 5]);
  expect(found("all", "SESSION/prompt")).toEqual([0, 2]);
  expect(found("all", "update there")).toEqual([1]);
  expect(found("message", "héllo")).toEqual([]);
});

test("an export has one JSON object per line", () => {
  const rows = exportEvents(journal).trimEnd().split("\n");
  expect(rows.map((row) => JSON.parse(row).type)).toEqual(journal.map(({ type }) => type));
});
