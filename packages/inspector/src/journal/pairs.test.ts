import { expect, test } from "vitest";
import { createPairs } from "./pairs.ts";
import { journalEvents, type Line, permission, prompt, sent, turnEnd } from "./testing.ts";

function pairsOf(...journal: Line[]): ReturnType<typeof createPairs> {
  const pairs = createPairs();
  for (const event of journalEvents(journal)) pairs.add(event);
  return pairs;
}

test("a request and its response are paired with their latency", () => {
  const pairs = pairsOf(prompt("1", "a"), permission(0), sent({ id: 0, result: {} }), turnEnd("1"));
  expect(pairs.peerOf(0)).toEqual({ index: 3, latencyMs: 3, method: "session/prompt" });
  expect(pairs.peerOf(3)).toEqual({ index: 0, latencyMs: 3, method: "session/prompt" });
  expect(pairs.peerOf(1)).toEqual({ index: 2, latencyMs: 1, method: "session/request_permission" });
});

test("the same id in both directions identifies two requests", () => {
  const pairs = pairsOf(
    sent({ id: 0, method: "initialize" }),
    permission(0),
    turnEnd("1"),
    sent({ id: 0, result: {} }),
  );
  expect(pairs.peerOf(0)).toBeUndefined();
  expect(pairs.peerOf(1)?.index).toBe(3);
});

test("a failed request is paired with the failed event", () => {
  expect(pairsOf(prompt("1", "a"), ["failed", { id: "1" }]).peerOf(0)?.index).toBe(1);
});

test("a response of the next process is not paired with a request to the previous one", () => {
  expect(pairsOf(prompt("1", "a"), ["exit", {}], turnEnd("1")).peerOf(2)).toBeUndefined();
});
