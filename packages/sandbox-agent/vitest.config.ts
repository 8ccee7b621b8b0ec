import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts"],
    // Tests talk to a real server over loopback and may be slow on a busy machine. Only a test that hangs should fail.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
