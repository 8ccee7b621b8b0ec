import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { HttpError } from "../harness/sdk.ts";
import type { Testbed } from "../harness/testbed.ts";
import type { Step } from "./step.ts";

/** How often to try: package registries sometimes offer a package before its dependencies. */
const TRIES = 3;

export const install: Step = {
  name: "install",
  shows: "The first POST installs the agent through the product's installer, starts it, and is answered.",
  limitMs: 300_000,
  async run(testbed) {
    const client = testbed.newClient("nothing");
    let tries = 0;
    for (;;) {
      tries += 1;
      const began = performance.now();
      try {
        await client.connect();
        testbed.measurements.installMs = performance.now() - began;
        break;
      } catch (error) {
        if (tries === TRIES || !(error instanceof HttpError) || error.code !== "install_failed") throw error;
      }
    }
    testbed.measurements.installBytes = await sizeOf(testbed);
    const { installed, version, verified, source } = await client.agents.get(testbed.agent.id);
    if (version !== undefined) testbed.measurements.version = version;
    await client.dispose();
    if (!installed || verified !== "ok" || source !== "fallback") {
      throw new Error(`installed ${installed}, verified ${verified}, from ${source}`);
    }
    return tries > 1 ? `at attempt ${tries}` : undefined;
  },
};

/** Returns the disk space that the install takes, including private runtimes. */
async function sizeOf({ environment }: Testbed): Promise<number> {
  const { stdout } = await promisify(execFile)("du", ["-sk", environment.data]);
  return Number.parseInt(stdout, 10) * 1024;
}
