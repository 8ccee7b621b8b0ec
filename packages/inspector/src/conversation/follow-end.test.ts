import { expect, test } from "vitest";
import { isStillFollowing, type ScrollPosition } from "./follow-end.ts";

const at = (top: number, height: number): ScrollPosition => ({ top, height, viewport: 500 });

test("the list keeps following its end however much content is appended", () => {
  expect(isStillFollowing(true, at(500, 1000), at(500, 90_000))).toBe(true);
  expect(isStillFollowing(true, at(500, 1000), at(700, 90_000))).toBe(true);
});

test("the list keeps following its end when it shrinks", () => {
  expect(isStillFollowing(true, at(9000, 10_000), at(8800, 9700))).toBe(true);
  expect(isStillFollowing(true, at(9500, 10_000), at(9100, 9600))).toBe(true);
});

test("scrolling up stops following, and scrolling back to the end resumes it", () => {
  expect(isStillFollowing(true, at(9500, 10_000), at(9300, 10_000))).toBe(false);
  expect(isStillFollowing(false, at(9300, 10_000), at(9350, 10_000))).toBe(false);
  expect(isStillFollowing(false, at(9300, 10_000), at(9450, 10_000))).toBe(true);
});
