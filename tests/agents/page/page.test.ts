import assert from "node:assert/strict";
import { test } from "node:test";
import type { Agent } from "../agents/agent.ts";
import type { Outcome } from "../harness/outcome.ts";
import type { Report } from "../run.ts";
import { STEPS } from "../steps/index.ts";
import type { StepName } from "../steps/step.ts";
import { unexpectedFailures } from "../unexpected.ts";
import { isGreen, pageOf } from "./page.ts";

const AGENT: Agent = { id: "one", asksFor: "everything", knownFailures: { fail: "It says nothing." } };

function report(special: Partial<Record<StepName, Outcome>>, others: Partial<Report> = {}): Report {
  const outcomes = new Map(STEPS.map(({ name }) => [name, special[name] ?? ({ kind: "ok" } as const)]));
  return { agent: AGENT, measurements: {}, outcomes, deviations: [], tookMs: 0, ...others };
}

const pageFor = (...reports: Report[]): string => pageOf(reports, { day: "2026-11-15", machine: "linux x64, 2 cores" });

test("an agent that does not support a step is green, one that fails a step is not", () => {
  assert.equal(isGreen(report({ ask: { kind: "not offered", reason: "no tool" } })), true);
  assert.equal(isGreen(report({ ask: { kind: "failed", reason: "no answer" } })), false);
  assert.equal(isGreen(report({ ask: { kind: "not run", reason: "no install" } })), false);
});

test("the page shows each step's sign, the reason, and the known cause", () => {
  const page = pageFor(
    report({ fail: { kind: "failed", reason: "no word | at all" }, ask: { kind: "not offered", reason: "no tool" } }),
  );
  const row = page.split("\n").find((line) => line.startsWith("| [one]")) ?? "";
  assert.equal(row.split("|").filter((cell) => cell.trim() === "✓").length, STEPS.length - 2);
  assert.match(row, /✗/);
  assert.match(page, /- fail failed: no word \\\| at all \*It says nothing\.\*/);
  assert.match(page, /- ask not offered: no tool/);
  assert.match(page, /0 of 1 agents pass every step/);
});

test("deviations of the agent are listed with their number", () => {
  const page = pageFor(report({}, { deviations: [{ by: "agent", text: "`x/y`: unknown", count: 3 }] }));
  assert.match(page, /- Deviations:\n {2}- `x\/y`: unknown \(3 times\)/);
});

test("measurements are rounded, and missing ones are left out", () => {
  const page = pageFor(report({}, { measurements: { version: "1.2.3", installBytes: 300_400_000, startMs: 1234 } }));
  assert.match(page, /\| one \| 1\.2\.3 \| 300 \| {2}\| 1\.2 \| {2}\|/);
});

test("a known failure is expected; any other failure, and a deviation of the SDK, is not", () => {
  const failed: Outcome = { kind: "failed", reason: "why" };
  assert.deepEqual(unexpectedFailures([report({ fail: failed })]), []);
  assert.deepEqual(unexpectedFailures([report({ cancel: failed })]), ["one: cancel failed: why"]);
  const deviations = [{ by: "client" as const, text: "`session/new`: wrong", count: 1 }];
  assert.deepEqual(unexpectedFailures([report({}, { deviations })]), ["one: the SDK: `session/new`: wrong"]);
});
