import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts"],
    // Every test talks to a real server over loopback; a hang is a failure.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
