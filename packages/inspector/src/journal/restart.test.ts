import { expect, test } from "vitest";
import { isRestarted, type UptimeSample } from "./restart.ts";

const sample = (uptimeMs: number, askedAtMs: number, answeredAtMs = askedAtMs + 10): UptimeSample => ({
  uptimeMs,
  askedAtMs,
  answeredAtMs,
});

test("a server whose uptime has grown by the time between two samples is the same one", () => {
  expect(isRestarted(sample(5000, 100), sample(65_000, 60_100))).toBe(false);
  // The page's computer was asleep: its clock stood still while the server's clock went on.
  expect(isRestarted(sample(5000, 100), sample(3_600_000, 200))).toBe(false);
  // The first answer took long, so the uptime in it was already old.
  expect(isRestarted(sample(5000, 100, 2100), sample(7050, 2150))).toBe(false);
});

test("a server whose uptime has grown by less was restarted", () => {
  expect(isRestarted(sample(5000, 100), sample(300, 60_100))).toBe(true);
  expect(isRestarted(sample(1000, 100), sample(59_000, 60_100))).toBe(true);
});
