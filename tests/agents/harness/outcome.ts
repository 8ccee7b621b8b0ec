/** What a step has come to. */

/** An agent does not offer what a step wants to see. That is no failure. */
export class NotOffered extends Error {}

/** How a step ended. */
export type Outcome =
  | { readonly kind: "ok"; readonly note?: string }
  | { readonly kind: "not offered"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "not run"; readonly reason: string };

/** Whether this is as it should be. */
export function isGood({ kind }: Outcome): boolean {
  return kind === "ok" || kind === "not offered";
}
