import { expect, test } from "vitest";
import { joinPath, parentOf } from "./path.ts";

test("paths are joined and split", () => {
  expect(joinPath("/", "a")).toBe("/a");
  expect(joinPath("/a/", "b/c")).toBe("/a/b/c");
  expect(parentOf("/a/b/")).toBe("/a");
  expect(parentOf("/a")).toBe("/");
});
