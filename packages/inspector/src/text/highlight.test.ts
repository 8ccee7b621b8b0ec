import { expect, test } from "vitest";
import { findLanguage, languageOfFile, tokenLines } from "./highlight.ts";

const textOf = (lines: ReturnType<typeof tokenLines>): string =>
  lines.map((line) => line.map(({ text }) => text).join("")).join("\n");

test("highlighting keeps every character, and tokens span line breaks", async () => {
  const code = "/* a\n\n b */\nconst x = `one\ntwo`;\n";
  const support = await findLanguage("ts")?.load();
  const lines = tokenLines(code, support?.language);
  expect(textOf(lines)).toBe(code);
  expect(lines[2]?.[0]).toEqual({ text: " b */", kinds: "comment" });
  expect(lines[3]?.[0]).toEqual({ text: "const", kinds: "keyword" });
});

test("code of an unknown language and very long code stay plain", async () => {
  expect(tokenLines("a\n\nb", undefined)).toEqual([[{ text: "a", kinds: "" }], [], [{ text: "b", kinds: "" }]]);
  expect(findLanguage("nonsense")).toBeUndefined();
  const support = await findLanguage("json")?.load();
  expect(tokenLines("1".repeat(50_000), support?.language)[0]?.[0]?.kinds).toBe("");
});

test("a language is found by its name, its alias and a file extension", () => {
  expect(["json", "bash", "rs", "tsx"].map((name) => findLanguage(name)?.name)).toEqual([
    "JSON",
    "Shell",
    "Rust",
    "TSX",
  ]);
});

test("a file's name determines its language", () => {
  const names = ["a/b.rs", "x.tsx", "script.sh", "pyproject.toml"].map((path) => languageOfFile(path)?.name);
  expect(names).toEqual(["Rust", "TSX", "Shell", "TOML"]);
  expect(languageOfFile("/some/json/folder")).toBeUndefined();
  expect(languageOfFile("notes.unknown")).toBeUndefined();
});
