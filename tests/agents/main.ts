/**
 * Runs the agent matrix: real agents, each through a number of steps.
 *
 *   main.ts [--page FILE] [--quick] [--steps a,b] [--keep] [agent ...]
 *
 * `--page` writes the results to a page of the documentation, `--quick` runs two quick agents, `--steps` runs only
 * these steps and those that they require, `--keep` keeps the agents' folders in `target/agent-matrix`, each with a
 * journal.
 */

import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { AGENTS, QUICK } from "./agents/index.ts";
import { isGreen, pageOf } from "./page/page.ts";
import { type OnStep, type Report, runAgent } from "./run.ts";
import { unexpectedFailures } from "./unexpected.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    page: { type: "string" },
    quick: { type: "boolean" },
    steps: { type: "string" },
    keep: { type: "boolean" },
  },
});
const unknown = positionals.filter((name) => !AGENTS.some(({ id }) => id === name));
if (unknown.length > 0) throw new Error(`not in the matrix: ${unknown.join(", ")}`);
const named = values.quick ? QUICK : positionals;
const wanted = AGENTS.filter(({ id }) => named.length === 0 || named.includes(id));

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const onStep: OnStep = (agent, step, outcome, tookMs) => {
  const why = outcome.kind === "ok" ? (outcome.note ?? "") : outcome.reason;
  const columns = [agent.id.padEnd(10), step.name.padEnd(10), outcome.kind.padEnd(11), seconds(tookMs).padStart(8)];
  console.log(`${columns.join("  ")}  ${why}`);
};

/** Writes the page. Called after each agent, so that the results of an interrupted run are not lost. */
async function writePage(): Promise<void> {
  if (values.page === undefined) return;
  const machine = `${process.platform} ${process.arch}, ${availableParallelism()} cores`;
  const day = new Date().toISOString().slice(0, 10);
  await writeFile(values.page, pageOf(reports, { day, machine }));
}

const began = performance.now();
const reports: Report[] = [];
for (const agent of wanted) {
  const only = values.steps?.split(",") ?? [];
  const report = await runAgent(agent, { only, cleanup: values.keep ? "keep" : "remove", onStep });
  reports.push(report);
  await writePage();
  for (const { by, text, count } of report.deviations) console.log(`${agent.id.padEnd(10)}  ${by}: ${text} (${count})`);
  console.log(`${agent.id.padEnd(10)}  ${isGreen(report) ? "green" : "not green"} after ${seconds(report.tookMs)}`);
}

const found = unexpectedFailures(reports);
console.log(`${reports.filter(isGreen).length} of ${reports.length} green in ${seconds(performance.now() - began)}`);
for (const line of found) console.log(line);
process.exitCode = found.length > 0 ? 1 : 0;
