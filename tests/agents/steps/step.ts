/** What a step is. */

import type { Testbed } from "../harness/testbed.ts";

/** The steps, in the order in which they are made. */
export const STEP_NAMES = [
  "install",
  "initialize",
  "session",
  "prompt",
  "allow",
  "reject",
  "host",
  "ask",
  "cancel",
  "sessions",
  "reconnect",
  "fail",
  "mode",
  "model",
  "resume",
  "delete",
] as const;

/** Names a step. */
export type StepName = (typeof STEP_NAMES)[number];

/** One thing that is tried with an agent. */
export interface Step {
  readonly name: StepName;
  /** What it shows, for the page. */
  readonly shows: string;
  /** It may take this long. */
  readonly limitMs: number;
  /** Throws when it fails; `NotOffered` when the agent does not offer it. What it returns is worth telling. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most steps have nothing to tell
  run(testbed: Testbed): Promise<string | void>;
}
