/** Finds the code block around a position in Markdown. A long block is shown in pieces, but copied as a whole. */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** The fence at the start of a line, such as `` ``` ``. */
export function fenceOf(line: string): string | undefined {
  return FENCE.exec(line)?.[1];
}

/** True if a line closes the code block that the line `opening` has opened. */
export function closesFence(line: string, opening: string): boolean {
  const mark = fenceOf(line);
  return mark !== undefined && mark === line.trim() && mark.startsWith(fenceOf(opening) ?? "");
}

/** The code of the fenced block that contains a position, without its fences. */
export function fencedCodeAt(source: string, position: number): string | undefined {
  let open: { readonly line: string; readonly from: number } | undefined;
  for (let at = 0; at < source.length; ) {
    const newline = source.indexOf("\n", at);
    const end = newline < 0 ? source.length : newline + 1;
    const line = source.slice(at, end);
    if (open === undefined) {
      if (at > position) return undefined;
      if (fenceOf(line) !== undefined) open = { line, from: end };
      else if (position < end) return undefined;
    } else if (closesFence(line, open.line)) {
      if (position < end) return source.slice(open.from, at);
      open = undefined;
    }
    at = end;
  }
  return open && source.slice(open.from);
}
