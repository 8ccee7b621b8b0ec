/** The generated types match the server's API document. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, expectTypeOf, it } from "vitest";
import type { Schema, ServerPath } from "./document.ts";

const PACKAGES = fileURLToPath(new URL("../../..", import.meta.url));

it("the generated types are up to date; if not, run `npm run generate` in packages", async () => {
  const check = promisify(execFile)("npm", ["run", "generate", "--workspace", "generate", "--", "--check"], {
    cwd: PACKAGES,
  });
  const { code = 0 } = (await check.catch((failure: { code: number }) => failure)) as { code?: number };
  expect(code).toBe(0);
}, 120_000);

it("paths are those of the document, with any string in place of a parameter", () => {
  expectTypeOf("/v1/agents/mock/install" as const).toExtend<ServerPath>();
  expectTypeOf("/v1/nothing" as const).not.toExtend<ServerPath>();
  expectTypeOf<Schema<"EntryType">>().toEqualTypeOf<"file" | "directory" | "symlink" | "other">();
});
