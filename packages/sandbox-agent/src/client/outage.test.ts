import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { EventBody } from "../events.ts";
import { createOutage } from "./outage.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const refused = new Error("connection refused");

it("an outage is reported within two seconds, and its end with the number of attempts", () => {
  const reported: EventBody[] = [];
  const outage = createOutage((body) => reported.push(body));
  outage.cut(new Error("stream ended"));
  outage.cut(refused);
  vi.advanceTimersByTime(500);
  outage.cut(refused);
  expect(reported).toEqual([]);
  vi.advanceTimersByTime(1_500);
  expect(reported).toEqual([{ type: "connection.lost", attempts: 2, message: "connection refused" }]);
  outage.cut(refused);
  outage.opened();
  expect(reported.slice(1)).toEqual([{ type: "connection.restored", attempts: 4 }]);
});

it("an outage is reported even if the attempt to reconnect hangs", () => {
  const reported: EventBody[] = [];
  createOutage((body) => reported.push(body)).cut("no reason");
  vi.advanceTimersByTime(2_000);
  expect(reported).toEqual([{ type: "connection.lost", attempts: 0, message: "no reason" }]);
});

it("a short cut, and the end of the connection, are not reported as an outage", () => {
  const reported: EventBody[] = [];
  const outage = createOutage((body) => reported.push(body));
  outage.cut(refused);
  outage.opened();
  vi.advanceTimersByTime(10_000);
  outage.cut(refused);
  outage.end();
  outage.cut(refused);
  vi.advanceTimersByTime(10_000);
  outage.opened();
  expect(reported).toEqual([]);
});
