/** Compares a run with the known failures. */

import type { Report } from "./run.ts";

/** Returns the failures of a run that are not known failures. Empty if everything is as expected. */
export function unexpectedFailures(reports: readonly Report[]): readonly string[] {
  return reports.flatMap(({ agent, outcomes, deviations }) => {
    const failed = [...outcomes].flatMap(([name, outcome]) =>
      outcome.kind === "failed" && agent.knownFailures?.[name] === undefined
        ? [`${agent.id}: ${name} failed: ${outcome.reason}`]
        : [],
    );
    const ours = deviations.filter(({ by }) => by === "client").map(({ text }) => `${agent.id}: the SDK: ${text}`);
    return [...failed, ...ours];
  });
}
