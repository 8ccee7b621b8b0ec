import { describe, expect, it } from "vitest";
import { readContextUsage, readStopReason, readTurnUsage } from "./usage.ts";

describe("usage", () => {
  it("of the context has numbers, and a cost where the agent reports one", () => {
    const cost = { amount: 0.25, currency: "USD" };
    expect(readContextUsage({ used: 1, size: 2, cost })).toEqual({ used: 1, size: 2, cost });
    expect(readContextUsage({ used: 1, size: 2, cost: null })).toEqual({ used: 1, size: 2 });
    expect(readContextUsage({})).toEqual({ used: 0, size: 0 });
  });

  it.each([
    ["no amount", { currency: "USD" }],
    ["an amount that is not a number", { amount: "1", currency: "USD" }],
    ["no currency", { amount: 1 }],
    ["another type", 7],
  ])("drops a cost with %s", (_, cost) => {
    expect(readContextUsage({ used: 1, size: 2, cost })).toEqual({ used: 1, size: 2 });
  });

  it("of a turn combines the answer's tokens with the newest report on the context", () => {
    const tokens = {
      totalTokens: 6,
      inputTokens: 1,
      outputTokens: 2,
      thoughtTokens: 3,
      cachedReadTokens: 4,
      cachedWriteTokens: 5,
    };
    const cost = { amount: 1, currency: "EUR" };
    expect(readTurnUsage({ usage: tokens }, { used: 7, size: 8, cost })).toEqual({
      usage: { ...tokens, used: 7, size: 8 },
      cost,
    });
    expect(readTurnUsage({ usage: { totalTokens: 6, thoughtTokens: null } }, undefined)).toEqual({
      usage: { totalTokens: 6 },
    });
    expect(readTurnUsage({}, { used: 7, size: 8 })).toEqual({ usage: { used: 7, size: 8 } });
  });

  it.each([
    ["nothing", undefined],
    ["null", { usage: null }],
    ["an empty object", { usage: {} }],
    ["texts", { usage: { totalTokens: "6" } }],
  ])("of a turn is absent if the agent reports %s", (_, answer) =>
    expect(readTurnUsage(answer, undefined)).toEqual({}),
  );
});

describe("the stop reason", () => {
  it.each(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"])("%s is known", (stopReason) => {
    expect(readStopReason({ stopReason })).toBe(stopReason);
  });

  it.each([
    ["a new one", { stopReason: "brand_new" }],
    ["one that only this client gives", { stopReason: "error" }],
    ["none", {}],
    ["no answer", undefined],
  ])("%s is unknown", (_, answer) => expect(readStopReason(answer)).toBe("unknown"));
});
