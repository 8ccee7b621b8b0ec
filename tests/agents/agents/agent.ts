/** What the matrix knows about an agent besides its recipe, which is part of the product. */

import type { StepName } from "../steps/step.ts";

/** An agent of the matrix. */
export interface Agent {
  /** Its id in the catalog. */
  readonly id: string;
  /** What it requests permissions for. Most agents request both. */
  readonly asksFor: "everything" | "shell" | "edits" | "nothing";
  /** False if the product has no recipe for it, because it needs its vendor's cloud. */
  readonly hasRecipe?: boolean;
  /**
   * True if it requests permissions only for what it does through its client. Its client then offers files and
   * terminals in every step.
   */
  readonly asksForHostOnly?: boolean;
  /** Steps that are known to fail, and why. They are still run and reported. */
  readonly knownFailures?: Readonly<Partial<Record<StepName, string>>>;
  /** True if a session can be reopened only after the minute in which it was created. */
  readonly loadsInAnotherMinute?: boolean;
}
