import { expect, test } from "vitest";
import { commandOf, printedBy, restOfInput } from "./tool-text.ts";

test("a command is found however it is written, and the rest is what is left", () => {
  expect(commandOf({ command: "ls -l", cwd: "/" })).toBe("ls -l");
  expect(commandOf({ command: ["ls", "-l"] })).toBe("ls -l");
  expect(commandOf({ path: "x" })).toBeUndefined();
  expect(commandOf("ls")).toBeUndefined();
  expect(restOfInput({ command: "ls", cwd: "/" })).toEqual({ cwd: "/" });
  expect(restOfInput({ command: "ls" })).toBeUndefined();
  expect(restOfInput({})).toBeUndefined();
  expect(restOfInput("text")).toBe("text");
});

test("what was printed is found under the names that agents have for it", () => {
  expect(printedBy("text")).toBe("text");
  expect(printedBy({ output: "a", metadata: {} })).toBe("a");
  expect(printedBy({ stdout: "a", stderr: "b" })).toBe("ab");
  expect(printedBy({ exit_code: 0 })).toBeUndefined();
  expect(printedBy(undefined)).toBeUndefined();
});
