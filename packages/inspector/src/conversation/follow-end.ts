/**
 * Decides whether a growing list keeps its end in view, which it does until the user scrolls up. The user has scrolled
 * up if the position has moved up by more than the list has shrunk.
 */

/** The scroll position of a list. */
export interface ScrollPosition {
  readonly top: number;
  readonly height: number;
  readonly viewport: number;
}

/** Closer to the end than this counts as being at the end. */
const NEAR_PX = 80;

/** True if the list should keep following its end after a scroll. */
export function isStillFollowing(isFollowing: boolean, before: ScrollPosition, now: ScrollPosition): boolean {
  if (now.height - now.top - now.viewport < NEAR_PX) return true;
  const up = before.top - now.top;
  const shorter = Math.max(0, before.height - now.height);
  return isFollowing && up <= shorter + 1;
}
