import { defineConfig } from "vitest/config";

/** For the mutation tester: only the tests of the conversions, which need no server. */
export default defineConfig({ test: { include: ["mutants/all.test.ts"] } });
