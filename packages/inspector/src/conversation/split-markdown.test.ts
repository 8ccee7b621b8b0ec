import { expect, test } from "vitest";
import { wholeCodeAt } from "./code-source.ts";
import { splitMarkdown } from "./split-markdown.ts";

const paragraph = `${"word ".repeat(200)}\n\n`;
const textsOf = (source: string): readonly string[] => splitMarkdown(source).pieces.map(({ text }) => text);
const longest = (source: string): number => Math.max(...textsOf(source).map(({ length }) => length));

test("short text is one piece", () => {
  expect(textsOf("a\n\nb")).toEqual(["a\n\nb"]);
});

test("no text is lost, and earlier pieces do not change while text is appended", () => {
  const text = paragraph.repeat(8);
  const pieces = textsOf(text);
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.join("")).toBe(text);
  expect(textsOf(`${text}more`).slice(0, pieces.length - 1)).toEqual(pieces.slice(0, -1));
});

test("an appended text is split like a text that arrived at once", () => {
  const row = "| a | b |\n";
  const code = `\`\`\`js\n${"line\n\nother\n".repeat(500)}\`\`\`\n\n`;
  const table = `| head | two |\n|---|---|\n${row.repeat(600)}\n`;
  const text = `${paragraph.repeat(5)}${code}[a]: https://example.com\n\n${table}${"word ".repeat(3000)}`;
  let split = splitMarkdown("");
  for (let end = 0; end < text.length + 700; end += 700) split = splitMarkdown(text.slice(0, end), split);
  expect(split.pieces).toEqual(splitMarkdown(text).pieces);
  expect(split.definitions).toBe("[a]: https://example.com");
});

test("a replaced text is split again", () => {
  expect(splitMarkdown("other", splitMarkdown("one")).pieces).toMatchObject([{ text: "other", isContinued: false }]);
});

test("a code block is split into code blocks", () => {
  const code = `\`\`\`js\n${"line\n\nother\n".repeat(800)}\`\`\`\n\nend`;
  const pieces = textsOf(code);
  expect(pieces.length).toBeGreaterThan(2);
  for (const piece of pieces.slice(0, -1)) expect(piece).toMatch(/^```js\n[\s\S]*\n```\n+$/);
  expect(pieces.at(-1)).toMatch(/end$/);
});

test("a short loose list is not split, a long one is split between its items", () => {
  const entry = "- entry with some words in it\n\n";
  expect(textsOf(entry.repeat(80))).toHaveLength(1);
  const pieces = textsOf(entry.repeat(400));
  expect(pieces.join("")).toBe(entry.repeat(400));
  for (const piece of pieces) expect(piece.trimStart()).toMatch(/^- entry/);
});

test("a long table repeats its head in every piece", () => {
  const pieces = textsOf(`| head | two |\n|---|---|\n${"| a | b |\n".repeat(1000)}\nbehind it`);
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.at(-1)).toMatch(/behind it$/);
  for (const piece of pieces) expect(piece).toMatch(/^\| head \| two \|\n\|---\|---\|\n/);
});

test("a long paragraph is split between words, and continues in the next piece", () => {
  const text = "some words ".repeat(40_000);
  const { pieces } = splitMarkdown(text);
  expect(pieces.map((piece) => piece.text).join("")).toBe(text);
  expect(longest(text)).toBeLessThanOrEqual(3001);
  for (const { text: piece, isContinued } of pieces.slice(1)) {
    expect(isContinued).toBe(true);
    expect(piece).toMatch(/^(some|words)/);
  }
});

test("a long word is split between characters", () => {
  const text = "x".repeat(2999) + "😀".repeat(5000);
  expect(textsOf(text).join("")).toBe(text);
  for (const piece of textsOf(text)) expect(piece.isWellFormed()).toBe(true);
});

test("link definitions are collected for all pieces", () => {
  const { definitions, pieces } = splitMarkdown(`${paragraph.repeat(5)}[a]: https://example.com\n`);
  expect(definitions).toBe("[a]: https://example.com");
  expect(pieces.length).toBeGreaterThan(1);
});

test("the code of a block that was split is found from each of its pieces", () => {
  const code = "line\n\nother\n".repeat(800);
  const source = `before\n\n\`\`\`js\n${code}\`\`\`\n\nafter`;
  const pieces = splitMarkdown(source).pieces;
  expect(pieces.length).toBeGreaterThan(2);
  for (const { text, ...piece } of pieces) {
    expect(wholeCodeAt({ ...piece, source: () => source }, text.indexOf("```js"))).toBe(code);
  }
});
