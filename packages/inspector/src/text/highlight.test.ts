import { expect, test } from "vitest";
import { languageOf, tokenLines } from "./highlight.ts";

const textOf = (lines: ReturnType<typeof tokenLines>): string =>
  lines.map((line) => line.map(({ text }) => text).join("")).join("\n");

test("colours lose no character, and go on over the ends of lines", () => {
  const code = "/* a\n\n b */\nconst x = `one\ntwo`;\n";
  const lines = tokenLines(code, "ts");
  expect(textOf(lines)).toBe(code);
  expect(lines[2]?.[0]).toEqual({ text: " b */", look: "hljs-comment" });
  expect(lines[3]?.[0]).toEqual({ text: "const", look: "hljs-keyword" });
});

test("code of no known language, and code without end, stays plain", () => {
  expect(tokenLines("a\nb", undefined)).toEqual([[{ text: "a", look: "" }], [{ text: "b", look: "" }]]);
  expect(tokenLines("a", "nonsense")).toEqual([[{ text: "a", look: "" }]]);
  expect(tokenLines("1".repeat(50_000), "json")[0]?.[0]?.look).toBe("");
});

test("a file's name tells its language", () => {
  expect(["a/b.rs", "x.TSX", "Makefile", "script.sh", "pyproject.toml"].map(languageOf)).toEqual([
    "rs",
    "tsx",
    "makefile",
    "sh",
    "toml",
  ]);
  expect(languageOf("/some/json/folder")).toBeUndefined();
  expect(languageOf("notes.unknown")).toBeUndefined();
});
