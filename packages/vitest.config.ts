import { defineConfig } from "vitest/config";

export default defineConfig({
  test: { projects: ["acp-http-client", "inspector", "sandbox-agent"] },
});
