import { expect, test } from "vitest";
import { isStillFollowing, type Seen } from "./follow.ts";

const seen = (top: number, height: number): Seen => ({ top, height, room: 500 });

test("what is added below does not end it, however much it is", () => {
  expect(isStillFollowing(true, seen(500, 1000), seen(500, 90_000))).toBe(true);
  expect(isStillFollowing(true, seen(500, 1000), seen(700, 90_000))).toBe(true);
});

test("a list that becomes shorter does not end it", () => {
  expect(isStillFollowing(true, seen(9000, 10_000), seen(8800, 9700))).toBe(true);
  expect(isStillFollowing(true, seen(9500, 10_000), seen(9100, 9600))).toBe(true);
});

test("the reader's scrolling up ends it, and scrolling back to the end begins it", () => {
  expect(isStillFollowing(true, seen(9500, 10_000), seen(9300, 10_000))).toBe(false);
  expect(isStillFollowing(false, seen(9300, 10_000), seen(9350, 10_000))).toBe(false);
  expect(isStillFollowing(false, seen(9300, 10_000), seen(9450, 10_000))).toBe(true);
});
