/** Runs one agent through all steps. */

import { homedir } from "node:os";
import { until, within } from "../../packages/testing/until.ts";
import type { Agent } from "./agents/agent.ts";
import { SCRATCH } from "./harness/environment.ts";
import { NotOffered, type Outcome } from "./harness/outcome.ts";
import { type Cleanup, type Measurements, openTestbed, type Testbed } from "./harness/testbed.ts";
import { STEPS } from "./steps/index.ts";
import type { Step, StepName } from "./steps/step.ts";
import { type Deviation, deviationsOf } from "./wire/deviations.ts";

/** The report on an agent. */
export interface Report {
  readonly agent: Agent;
  readonly measurements: Measurements;
  readonly outcomes: ReadonlyMap<StepName, Outcome>;
  readonly deviations: readonly Deviation[];
  readonly tookMs: number;
}

/** A function that is called after each step. */
export type OnStep = (agent: Agent, step: Step, outcome: Outcome, tookMs: number) => void;

/** How to run an agent. */
export interface RunOptions {
  /** The steps to run, in addition to the necessary ones. If empty, all steps are run. */
  readonly only: readonly string[];
  readonly cleanup: Cleanup;
  readonly onStep: OnStep;
}

/** The steps that must pass before any other step can be run. */
const NECESSARY: readonly StepName[] = ["install", "initialize", "session"];
const MAX_REASON_LENGTH = 500;
/** As long as the slowest step: on a busy machine, an agent may take its time to end. */
const JOURNAL_LIMIT_MS = 120_000;

/** Runs an agent through all steps. If the agent fails a step, the report says so; no error is thrown. */
export async function runAgent(agent: Agent, { only, cleanup, onStep }: RunOptions): Promise<Report> {
  const began = performance.now();
  const testbed = await openTestbed(agent, cleanup);
  const outcomes = new Map<StepName, Outcome>();
  let missing: StepName | undefined;
  try {
    for (const step of STEPS) {
      const isWanted = only.length === 0 || NECESSARY.includes(step.name) || only.includes(step.name);
      if (!isWanted) continue;
      const started = performance.now();
      const outcome: Outcome = missing
        ? { kind: "not run", reason: `it needs the step ${missing}, which failed` }
        : await runStep(testbed, step);
      if (outcome.kind === "failed" && NECESSARY.includes(step.name)) missing ??= step.name;
      // The next step starts with a new client and instance.
      if (outcome.kind === "failed") await testbed.leave();
      outcomes.set(step.name, outcome);
      onStep(agent, step, outcome, performance.now() - started);
    }
    await testbed.leave();
    await until(
      "the journal to be complete",
      () => testbed.journal.isComplete() || testbed.journal.failure() !== undefined,
      JOURNAL_LIMIT_MS,
    );
    if (testbed.journal.failure()) throw testbed.journal.failure();
    const deviations = deviationsOf(testbed.journal.entries);
    return { agent, measurements: testbed.measurements, outcomes, deviations, tookMs: performance.now() - began };
  } finally {
    await testbed.close();
  }
}

async function runStep(testbed: Testbed, step: Step): Promise<Outcome> {
  try {
    const note = await within(`the step ${step.name}`, step.limitMs, step.run(testbed));
    return note ? { kind: "ok", note } : { kind: "ok" };
  } catch (error) {
    if (error instanceof NotOffered) return { kind: "not offered", reason: error.message };
    const reason = error instanceof Error ? error.message : String(error);
    return { kind: "failed", reason: withoutFolders(reason).slice(0, MAX_REASON_LENGTH) };
  }
}

/** Removes this machine's paths from a text. */
function withoutFolders(reason: string): string {
  return reason.replaceAll(SCRATCH, "").replaceAll(homedir(), "~").replace(/\s+/g, " ");
}
