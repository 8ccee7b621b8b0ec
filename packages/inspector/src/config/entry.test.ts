import { expect, test } from "vitest";
import { editedPart, readValue, shownValue, summaryOf, withPart } from "./entry.ts";

test("lists and maps survive a round trip through the form", () => {
  for (const value of [["-a", "b c"], ["x"]]) expect(readValue("lines", shownValue(value))).toEqual(value);
  const env = { A: "1", B: "x=y", C: "" };
  expect(readValue("pairs", shownValue(env))).toEqual(env);
  expect(readValue("text", "  ")).toBeUndefined();
  expect(readValue("lines", "\n")).toBeUndefined();
});

test("further sources of skills are preserved when the first is edited", () => {
  const entry = {
    note: 1,
    sources: [
      { type: "git", source: "a" },
      { type: "local", source: "b" },
    ],
  };
  expect(editedPart("skills", entry)).toEqual({ type: "git", source: "a" });
  expect(withPart("skills", entry, { type: "github", source: "c" })).toEqual({
    note: 1,
    sources: [
      { type: "github", source: "c" },
      { type: "local", source: "b" },
    ],
  });
});

test("an entry has a one-line summary", () => {
  expect(summaryOf({ type: "local", command: "npx", args: ["-y", "server"] })).toBe("local: npx -y server");
  expect(summaryOf({ type: "remote", url: "https://x" })).toBe("remote: https://x");
  expect(summaryOf({ sources: [{ type: "github", source: "o/r" }] })).toBe("github: o/r");
});
