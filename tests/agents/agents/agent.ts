/** What the matrix has to know about an agent beside its recipe, which is the product's. */

import type { StepName } from "../steps/step.ts";

/** An agent of the matrix. */
export interface Agent {
  /** Its id in the catalog. */
  readonly id: string;
  /** What it asks permission for. Most ask for both. */
  readonly asksFor: "everything" | "shell" | "edits" | "nothing";
  /** Whether the product knows how to point it at the model; `false` for those that need their maker's cloud. */
  readonly hasRecipe?: boolean;
  /** It asks only for what it does through its client, so its client offers files and terminals in every step. */
  readonly asksForHostOnly?: boolean;
  /** Steps that are known to fail, and why. They are run all the same, and told. */
  readonly knownFailures?: Readonly<Partial<Record<StepName, string>>>;
  /** A session of this agent can be opened again only when the clock shows another minute than at its creation. */
  readonly loadsInAnotherMinute?: boolean;
}
