import { expect, test } from "vitest";
import { splitMarkdown } from "./split.ts";

const paragraph = `${"word ".repeat(200)}\n\n`;

test("short text is one piece", () => {
  expect(splitMarkdown("a\n\nb")).toEqual(["a\n\nb"]);
});

test("nothing is lost and earlier pieces stay as they are while text is added", () => {
  const text = paragraph.repeat(8);
  const pieces = splitMarkdown(text);
  expect(pieces.length).toBeGreaterThan(2);
  expect(pieces.join("")).toBe(text);
  expect(splitMarkdown(`${text}more`).slice(0, pieces.length - 1)).toEqual(pieces.slice(0, -1));
});

test("code with empty lines in it is not cut", () => {
  const code = `\`\`\`js\n${"line\n\nother\n".repeat(400)}\`\`\`\n\n`;
  expect(splitMarkdown(`${code}end`)).toEqual([code, "end"]);
});

test("a list with empty lines between its entries is not cut", () => {
  const list = `${"- entry with some words in it\n\n".repeat(100)}`;
  expect(splitMarkdown(list)).toEqual([list]);
});

test("text whose links are defined at its end stays whole", () => {
  const text = `${paragraph.repeat(5)}[a]: https://example.com\n`;
  expect(splitMarkdown(text)).toEqual([text]);
});
