import { expect, test } from "vitest";
import { createScreen, type Run } from "./screen.ts";

async function shown(...prints: string[]): Promise<readonly (readonly Run[])[]> {
  const screen = createScreen(100);
  for (const text of prints) await new Promise<void>((resolve) => screen.print(text, resolve));
  const lines = screen.lines();
  screen.dispose();
  return lines;
}

const texts = (lines: readonly (readonly Run[])[]): readonly string[] =>
  lines.map((line) => line.map(({ text }) => text).join(""));

test("text is shown as printed, with any line ending", async () => {
  expect(texts(await shown("one\ntwo\r\n\nfour"))).toEqual(["one", "two", "", "four"]);
  expect(texts(await shown("a\n", "b\n"))).toEqual(["a", "b"]);
});

test("colours and attributes apply to their runs only", async () => {
  const [line] = await shown("\u001b[31mred\u001b[0m plain \u001b[1;4;38;5;208mbold\u001b[0m \u001b[48;2;1;2;3mback");
  expect(line).toEqual([
    { text: "red", className: "", color: "var(--ansi-1)", background: undefined },
    { text: " plain ", className: "", color: undefined, background: undefined },
    { text: "bold", className: "bold underline", color: "rgb(255 135 0)", background: undefined },
    { text: " ", className: "", color: undefined, background: undefined },
    { text: "back", className: "", color: undefined, background: "#010203" },
  ]);
});

test("overwritten text is replaced, as on a terminal", async () => {
  expect(texts(await shown("10 %\r50 %\r100 %\ndone"))).toEqual(["100 %", "done"]);
  expect(texts(await shown("one\ntwo\u001b[1A\r\u001b[2KONE\n"))).toEqual(["ONE", "two"]);
});

test("a wrapped line is one line", async () => {
  const long = "word ".repeat(300).trimEnd();
  expect(texts(await shown(`${long}\nnext`))).toEqual([long, "next"]);
});

test("wide characters are preserved", async () => {
  expect(texts(await shown("日本語 ok 😀 end"))).toEqual(["日本語 ok 😀 end"]);
});

test("the end of a long output is kept", async () => {
  const all = Array.from({ length: 1000 }, (_, index) => `line ${index}`);
  const lines = texts(await shown(all.join("\n")));
  expect(lines.length).toBeLessThan(200);
  expect(lines.at(-1)).toBe("line 999");
});
