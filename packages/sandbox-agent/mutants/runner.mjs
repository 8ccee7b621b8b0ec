/**
 * Makes Stryker's runner for vitest work with vitest 5. Stryker selects tests by their full names, in which it puts a
 * space between the names of suites and tests. Vitest 5 uses another separator, so it would find no test, and every
 * mutant would survive. All tests of the conversions together are quick, so this runner always runs all of them.
 */

import { strykerPlugins as original } from "@stryker-mutator/vitest-runner";

const [plugin] = original;

function createRunner(injector) {
  const runner = plugin.factory(injector);
  const mutantRun = runner.mutantRun.bind(runner);
  runner.mutantRun = (options) => mutantRun({ ...options, testFilter: undefined });
  return runner;
}
createRunner.inject = plugin.factory.inject;

export { strykerValidationSchema } from "@stryker-mutator/vitest-runner";
export const strykerPlugins = [{ ...plugin, name: "vitest-5", factory: createRunner }];
