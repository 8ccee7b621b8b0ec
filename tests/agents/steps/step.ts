/** The steps of the matrix. */

import type { Testbed } from "../harness/testbed.ts";

/** The steps, in order. */
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

/** The name of a step. */
export type StepName = (typeof STEP_NAMES)[number];

/** A test that is run with every agent. */
export interface Step {
  readonly name: StepName;
  /** What the step shows. Part of the page. */
  readonly shows: string;
  /** How long the step may take. */
  readonly limitMs: number;
  /**
   * Runs the step. Throws if the agent fails it, and `NotOffered` if the agent does not support it. Resolves with a
   * note for the page, if there is one.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most steps have no note
  run(testbed: Testbed): Promise<string | void>;
}
