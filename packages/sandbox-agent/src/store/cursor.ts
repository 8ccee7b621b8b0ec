/**
 * Cursors for lists of sessions. A cursor is the sort key of the last entry, so that concurrent changes do not cause
 * duplicates or gaps.
 */

/** The sort key of a session. */
export interface SortKey {
  readonly updatedAt: string;
  readonly id: string;
}

/** Formats a cursor. */
export function formatCursor({ updatedAt, id }: SortKey): string {
  return `${updatedAt} ${id}`;
}

/** Parses a cursor. */
export function parseCursor(cursor: string): SortKey {
  const gap = cursor.indexOf(" ");
  return { updatedAt: cursor.slice(0, gap), id: cursor.slice(gap + 1) };
}

/** Compares sessions: most recently used first, then by id. */
export function compare(one: SortKey, other: SortKey): number {
  if (one.updatedAt !== other.updatedAt) return one.updatedAt < other.updatedAt ? 1 : -1;
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

/** Makes a page of the first `limit` items. The page has a cursor for the next one only if there are more items. */
export function pageOf<T extends SortKey>(
  items: readonly T[],
  limit: number | undefined,
): { items: T[]; next?: string } {
  if (limit === undefined || items.length <= limit) return { items: [...items] };
  const part = items.slice(0, limit);
  const last = part.at(-1);
  return last ? { items: part, next: formatCursor(last) } : { items: part };
}
