import { expect, it } from "vitest";
import { agentErrorMessage } from "./errors.ts";

it.each<[string, string, unknown, string]>([
  ["no data", "refused", undefined, "refused"],
  ["null", "refused", null, "refused"],
  ["an empty text", "refused", "", "refused"],
  ["an empty object", "refused", {}, "refused"],
  ["a number", "refused", 7, "refused"],
  ["a list", "refused", ["a"], "refused"],
  ["a text", "Internal error", "no key", "Internal error: no key"],
  ["details", "Internal error", { details: "no key", message: "other" }, "Internal error: no key"],
  ["detail", "Internal error", { detail: "no key", message: "other" }, "Internal error: no key"],
  ["a message", "Internal error", { message: "no key", reason: "other" }, "Internal error: no key"],
  ["a reason", "Internal error", { reason: "no key", error: "other" }, "Internal error: no key"],
  ["an error", "Internal error", { error: { message: "no key" } }, "Internal error: no key"],
  ["an empty text before another", "Internal error", { details: "", message: "no key" }, "Internal error: no key"],
  ["the same text", "no key", { details: "no key" }, "no key"],
  ["a part of the message", "there is no key", { details: "no key" }, "there is no key"],
  ["a text that contains the message", "no key", { details: "no key for x" }, "no key for x"],
  ["a text, and an empty message", "", "no key", "no key"],
  ["an object without a text, and an empty message", "", { status: 500 }, '{"status":500}'],
  ["an object without a text", "Internal error", { status: 500 }, 'Internal error: {"status":500}'],
])("the message is made from an error whose data is %s", (_, message, data, expected) => {
  expect(agentErrorMessage(message, data)).toBe(expected);
});

it("long data is shortened", () => {
  const fits = { list: ["x".repeat(500 - '{"list":[""]}'.length)] };
  expect(agentErrorMessage("m", fits)).toBe(`m: ${JSON.stringify(fits)}`);
  const long = { list: ["x".repeat(600)] };
  expect(agentErrorMessage("m", long)).toBe(`m: ${JSON.stringify(long).slice(0, 500)}…`);
});
