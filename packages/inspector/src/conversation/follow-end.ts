/**
 * Keeps the end of a list in view while it grows, until the reader scrolls up. Decided by what has moved, since a busy
 * page takes in much between two looks: only the reader moves up by more than the list has become shorter.
 */

/** What a list measured when it was last looked at. */
export interface ScrollPosition {
  readonly top: number;
  readonly height: number;
  readonly viewport: number;
}

/** Closer to the end than this counts as being at the end. */
const NEAR_PX = 80;

/** Whether to go on following after a scroll. */
export function isStillFollowing(isFollowing: boolean, before: ScrollPosition, now: ScrollPosition): boolean {
  if (now.height - now.top - now.viewport < NEAR_PX) return true;
  const up = before.top - now.top;
  const shorter = Math.max(0, before.height - now.height);
  return isFollowing && up <= shorter + 1;
}
