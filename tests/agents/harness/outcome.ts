/** The outcomes of a step. */

/** Thrown by a step if the agent does not support what the step tests. That is not a failure. */
export class NotOffered extends Error {}

/** The outcome of a step. */
export type Outcome =
  | { readonly kind: "ok"; readonly note?: string }
  | { readonly kind: "not offered"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "not run"; readonly reason: string };

/** True unless the step failed or was not run. */
export function isGood({ kind }: Outcome): boolean {
  return kind === "ok" || kind === "not offered";
}
