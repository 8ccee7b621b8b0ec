/** Cursors through a list of sessions: the last entry seen, so that changes in between repeat or skip nothing else. */

/** A place in the list. */
export interface SortKey {
  readonly updatedAt: string;
  readonly id: string;
}

/** Writes a cursor. */
export function formatCursor({ updatedAt, id }: SortKey): string {
  return `${updatedAt} ${id}`;
}

/** Reads a cursor. */
export function parseCursor(cursor: string): SortKey {
  const gap = cursor.indexOf(" ");
  return { updatedAt: cursor.slice(0, gap), id: cursor.slice(gap + 1) };
}

/** The order of sessions: last used first, then by id. */
export function compare(one: SortKey, other: SortKey): number {
  if (one.updatedAt !== other.updatedAt) return one.updatedAt < other.updatedAt ? 1 : -1;
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}

/** Cuts one part out of more entries than it may have. */
export function pageOf<T extends SortKey>(
  items: readonly T[],
  limit: number | undefined,
): { items: T[]; next?: string } {
  if (limit === undefined || items.length <= limit) return { items: [...items] };
  const part = items.slice(0, limit);
  const last = part.at(-1);
  return last ? { items: part, next: formatCursor(last) } : { items: part };
}
