/**
 * The part of vitest's API that the store conformance suite uses. The suite is bundled with this module in place of
 * vitest, which does not run in a browser. Values are compared as JSON.
 */

/** The result of a test. */
export interface PageResult {
  readonly name: string;
  /** Why the test failed; absent if it passed. */
  readonly failure?: string;
}

const tests: { name: string; run: () => Promise<void> }[] = [];
const afterwards: (() => Promise<void>)[] = [];

/** Defines a group of tests. */
export function describe(_name: string, define: () => void): void {
  define();
}

/** Defines one test. */
export function it(name: string, run: () => Promise<void>): void {
  tests.push({ name, run });
}

/** Registers a function that is called after every test. */
export function afterEach(run: () => Promise<void>): void {
  afterwards.push(run);
}

/** Runs all tests, one after the other. */
export async function runTests(): Promise<PageResult[]> {
  const results: PageResult[] = [];
  for (const { name, run } of tests) {
    try {
      await run();
      for (const tidy of afterwards) await tidy();
      results.push({ name });
    } catch (error) {
      results.push({ name, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  }
  return results;
}

/** Asserts on a value. */
export function expect(actual: unknown) {
  const check = (isRight: boolean, what: string, expected: unknown): void => {
    if (!isRight) throw new Error(`expected ${textOf(actual)} ${what} ${textOf(expected)}`);
  };
  return {
    toBe: (expected: unknown) => check(Object.is(actual, expected), "to be", expected),
    toEqual: (expected: unknown) => check(textOf(actual) === textOf(expected), "to equal", expected),
    toBeUndefined: () => check(actual === undefined, "to be", undefined),
    toHaveLength: (expected: number) =>
      check((actual as { length: number }).length === expected, "to have the length", expected),
    toBeLessThanOrEqual: (expected: number) => check((actual as number) <= expected, "to be at most", expected),
    rejects: {
      async toBeInstanceOf(type: abstract new (...given: never[]) => unknown): Promise<void> {
        const error = await (actual as Promise<unknown>).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (!(error instanceof type)) throw new Error(`expected a ${type.name}, got ${error}`);
      },
    },
  };
}

/** JSON with sorted keys. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, entry: unknown) => {
    if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return entry;
    return Object.fromEntries(Object.entries(entry).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}
