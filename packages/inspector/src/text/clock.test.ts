import { expect, test } from "vitest";
import { clockText } from "./clock.ts";

test("a time on another day is shown with its date", () => {
  const at = new Date(2026, 0, 31, 9, 5, 7);
  expect(clockText(at, new Date(2026, 0, 31, 23, 59))).toBe("09:05:07");
  expect(clockText(at, new Date(2026, 1, 1, 0, 0))).toBe("2026-01-31 09:05:07");
});
