import { expect, test } from "vitest";
import { isRestarted, type UptimeSample } from "./restart.ts";

const sample = (uptimeMs: number, askedAtMs: number, answeredAtMs = askedAtMs + 10): UptimeSample => ({
  uptimeMs,
  askedAtMs,
  answeredAtMs,
});

test("a server that has aged by the time between two samples is the same one", () => {
  expect(isRestarted(sample(5000, 100), sample(65_000, 60_100))).toBe(false);
  // The computer of the page slept: its clock stood still while the server's went on.
  expect(isRestarted(sample(5000, 100), sample(3_600_000, 200))).toBe(false);
  // The first answer took long, so the uptime in it was already old.
  expect(isRestarted(sample(5000, 100, 2100), sample(7050, 2150))).toBe(false);
});

test("a server that is younger than that was restarted", () => {
  expect(isRestarted(sample(5000, 100), sample(300, 60_100))).toBe(true);
  expect(isRestarted(sample(1000, 100), sample(59_000, 60_100))).toBe(true);
});
