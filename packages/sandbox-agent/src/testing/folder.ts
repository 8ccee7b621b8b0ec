/** Temporary folders. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Makes a folder that the caller removes. */
export async function makeFolder(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "sandbox-agent-sdk-"));
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

/** Makes a folder that is removed when the test has finished. */
export async function temporaryFolder(): Promise<string> {
  const { path, remove } = await makeFolder();
  onTestFinished(remove);
  return path;
}
