/** Makes the page that a full run of the matrix writes. */

import { AGENTS } from "../agents/index.ts";
import { isGood, type Outcome } from "../harness/outcome.ts";
import type { Measurements } from "../harness/testbed.ts";
import type { Report } from "../run.ts";
import { STEPS } from "../steps/index.ts";
import type { StepName } from "../steps/step.ts";

const SIGN: Record<Outcome["kind"], string> = { ok: "✓", "not offered": "–", failed: "✗", "not run": "" };

/** When and where a run took place. */
export interface Circumstances {
  /** The day, such as `2026-11-15`. */
  readonly day: string;
  /** The machine, such as `linux x64, 2 cores`. */
  readonly machine: string;
}

/** Makes the whole page. */
export function pageOf(reports: readonly Report[], { day, machine }: Circumstances): string {
  const green = reports.filter(isGreen);
  const missing = AGENTS.filter(({ id }) => !reports.some(({ agent }) => agent.id === id)).map(({ id }) => id);
  return `# Agent matrix

<!-- Written by \`make test-agents\`; change tests/agents instead. -->

Each agent below is a real one. The first POST installs it; the server runs it; the TypeScript SDK drives it over HTTP. The
model is the [scripted model](scripted-model.md), with the settings that \`sandbox-agent model\` prints, so a run needs no
account and no key, and fakes nothing but the model. Every message is checked against the protocol's schema.

\`make test-agents\` runs all agents, one after another, and writes this page. \`make test-agents ARGS="codex goose"\` runs
some of them and only prints the results. A run fails if a step fails that is not a known failure, or if the SDK itself
deviates from the protocol. \`make test\` runs two of the agents. The versions are those pinned in the
[catalog](agents.md).

This run: ${day}, ${machine}. ${green.length} of ${reports.length} agents pass every step that they offer.${
    missing.length > 0 ? `\nNot in this run: ${missing.join(", ")}.` : ""
  }

## Results

✓ passed · – not offered by the agent · ✗ failed · empty: not run, because an earlier step failed

| agent | ${STEPS.map(({ name }) => name).join(" | ")} |
|---|${STEPS.map(() => ":-:|").join("")}
${reports.map(resultsRow).join("\n")}

${STEPS.map(({ name, shows }) => `- **${name}**: ${shows}`).join("\n")}

## Sizes and times

Install: the time from the first POST to its response, with nothing cached, including private runtimes. Start: the same for
an installed agent. Memory: the agent's whole process tree with one open session, counting shared pages once.

| agent | version | install MB | install s | start s | memory MB |
|---|---|--:|--:|--:|--:|
${reports.map(measuresRow).join("\n")}

## By agent

Steps that did not simply pass, notes, and deviations from version 1 of the protocol. The deviations are the agents' own:
the server forwards messages unchanged.

${reports.map(section).join("\n\n")}
`;
}

/** True if an agent passes every step that it offers. */
export function isGreen({ outcomes }: Report): boolean {
  return STEPS.every(({ name }) => {
    const outcome = outcomes.get(name);
    return outcome !== undefined && isGood(outcome);
  });
}

function resultsRow({ agent, outcomes }: Report): string {
  const cells = STEPS.map(({ name }) => SIGN[outcomes.get(name)?.kind ?? "not run"]);
  return `| [${agent.id}](#${agent.id}) | ${cells.join(" | ")} |`;
}

function measuresRow({ agent, measurements }: Report): string {
  const { version, installBytes, installMs, startMs, memoryBytes } = measurements;
  const cells = [
    version ?? "",
    rounded(installBytes, 1e6, 0),
    rounded(installMs, 1e3, 0),
    rounded(startMs, 1e3, 1),
    rounded(memoryBytes, 1e6, 0),
  ];
  return `| ${agent.id} | ${cells.join(" | ")} |`;
}

function rounded(value: Measurements["installMs"], unit: number, digits: number): string {
  return value === undefined ? "" : (value / unit).toFixed(digits);
}

function section(report: Report): string {
  const { agent, outcomes, deviations } = report;
  const lines = STEPS.flatMap(({ name }) => lineOf(report, name, outcomes.get(name)));
  const theirs = deviations.filter(({ by }) => by === "agent");
  const items = theirs.map(({ text, count }) => `  - ${text}${count > 1 ? ` (${count} times)` : ""}`);
  const list = items.length > 0 ? ["- Deviations:", ...items] : [];
  const all = [...lines, ...list];
  return `### ${agent.id}\n\n${all.length > 0 ? all.join("\n") : "Nothing to report."}`;
}

function lineOf({ agent }: Report, name: StepName, outcome: Outcome | undefined): string[] {
  if (!outcome || outcome.kind === "not run") return [];
  if (outcome.kind === "ok") return outcome.note === undefined ? [] : [`- ${name}: ${clean(outcome.note)}`];
  const why = outcome.kind === "failed" ? agent.knownFailures?.[name] : undefined;
  return [`- ${name} ${outcome.kind}: ${clean(outcome.reason)}${why === undefined ? "" : ` *${why}*`}`];
}

/** Escapes text for a single line of Markdown. */
function clean(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .replace(/[|<>]/g, (sign) => `\\${sign}`)
    .trim();
}
