import { defineConfig } from "vitest/config";

export default defineConfig({ test: { name: "inspector", include: ["src/**/*.test.ts"] } });
