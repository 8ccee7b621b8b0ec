import { expect, test } from "vitest";
import { commandOf, printedBy, restOfInput } from "./tool-text.ts";

test("a command is found as a string or a list, and the rest of the input is returned", () => {
  expect(commandOf({ command: "ls -l", cwd: "/" })).toBe("ls -l");
  expect(commandOf({ command: ["ls", "-l"] })).toBe("ls -l");
  expect(commandOf({ path: "x" })).toBeUndefined();
  expect(commandOf("ls")).toBeUndefined();
  expect(restOfInput({ command: "ls", cwd: "/" })).toEqual({ cwd: "/" });
  expect(restOfInput({ command: "ls" })).toBeUndefined();
  expect(restOfInput({})).toBeUndefined();
  expect(restOfInput("text")).toBe("text");
});

test("the output is found under the names that agents use", () => {
  expect(printedBy("text")).toBe("text");
  expect(printedBy({ output: "a", metadata: {} })).toBe("a");
  expect(printedBy({ stdout: "a", stderr: "b" })).toBe("ab");
  expect(printedBy({ exit_code: 0 })).toBeUndefined();
  expect(printedBy(undefined)).toBeUndefined();
});
