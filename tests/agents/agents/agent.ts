/**
 * What the agent matrix knows about an agent. The settings that point the agent at the scripted model, its recipe, are
 * not here: the product has them.
 */

import type { StepName } from "../steps/step.ts";

/** An agent of the matrix. */
export interface Agent {
  /** The agent's id in the catalog. */
  readonly id: string;
  /** What the agent requests permissions for: commands, changes to files, or both, as most agents do. */
  readonly asksFor: "everything" | "shell" | "edits" | "nothing";
  /** False if the product has no recipe for the agent, because it needs its vendor's cloud. */
  readonly hasRecipe?: boolean;
  /**
   * True if the agent requests permissions only for what it does through its client. Its client then offers files and
   * terminals in every step.
   */
  readonly asksForHostOnly?: boolean;
  /** Steps that are known to fail, and why. They are still run and reported. */
  readonly knownFailures?: Readonly<Partial<Record<StepName, string>>>;
  /** True if a session can be reopened only after the minute in which it was created. */
  readonly loadsInAnotherMinute?: boolean;
}
