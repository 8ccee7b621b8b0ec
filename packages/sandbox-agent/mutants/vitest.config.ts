import { defineConfig } from "vitest/config";

/** The configuration for mutation tests: runs only the tests of the conversions, which need no server. */
export default defineConfig({ test: { include: ["mutants/all.test.ts"] } });
