import { expect, test } from "vitest";
import { durationText } from "./duration.ts";

test.each([
  [3.4, "3 ms"],
  [999, "999 ms"],
  [1000, "1 s"],
  [1234, "1.2 s"],
  [12_900, "12 s"],
  [65_000, "1 min 5 s"],
  [3_600_000, "1 h"],
  [7_260_000, "2 h 1 min"],
])("%d ms is shown as %s", (milliseconds, text) => expect(durationText(milliseconds)).toBe(text));
