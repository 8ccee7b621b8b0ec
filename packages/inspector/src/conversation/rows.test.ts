import { expect, test } from "vitest";
import { chunk, fromAgent, prompt, replay, sessionIn, turnEnd, update } from "../journal/testing.ts";
import { createRows } from "./rows.ts";

const image = update("agent_message_chunk", { content: { type: "image", data: "", mimeType: "image/png" } });

test("an answer has one row per piece, any other item has one row", () => {
  const { items } = sessionIn(replay(prompt("1", "hi"), chunk("words ".repeat(1400)), image, turnEnd("1")));
  const rows = createRows()(items);
  expect(rows.map(({ kind }) => kind).join(" ")).toMatch(/^item text text text block$/);
  expect(rows.map((row) => ("part" in row ? row.part : ""))).toEqual(["", "first", "continued", "continued", "first"]);
  expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
});

test("an unchanged row keeps its identity while the last one grows", () => {
  const make = createRows();
  const journal = [prompt("1", "hi"), chunk(`${"words ".repeat(300)}\n\nmore`)];
  const before = make(sessionIn(replay(...journal)).items);
  const after = make(sessionIn(replay(...journal, chunk(" and more"))).items);
  expect(after).toHaveLength(before.length);
  expect(after.at(-2)).toBe(before.at(-2));
  expect(after.at(-1)).not.toBe(before.at(-1));
});

test("an item that is removed from the conversation is removed from the rows", () => {
  const make = createRows();
  const known = replay(prompt("1", "hi"), chunk("there"), turnEnd("1"));
  expect(make(sessionIn(known).items)).toHaveLength(2);
  expect(make([])).toEqual([]);
  expect(make(sessionIn(replay(fromAgent({}), prompt("2", "again"))).items)).toHaveLength(1);
});
