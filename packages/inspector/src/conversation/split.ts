/**
 * Cuts markdown into pieces that can be shown one by one. Pieces only grow at the end, so all but the last stay as
 * they are while an answer streams in. Lists, fences and tables are never cut.
 */

/** A piece is not cut before it has this many characters. */
const PIECE = 1500;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** A line that may belong to what is above the empty line: indented, or an entry of a list. */
const CONTINUES = /^(\s|[-*+] |\d+[.)] |>)/;

export function splitMarkdown(text: string): readonly string[] {
  if (text.length <= PIECE) return [text];
  const pieces: string[] = [];
  let start = 0;
  let at = 0;
  let fence: string | undefined;
  let isAfterEmpty = false;
  // A link's address may be defined anywhere, and a footnote too: such a text stays whole.
  if (/^\[[^\]]+\]:/m.test(text)) return [text];
  while (at < text.length) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline + 1;
    const line = text.slice(at, end);
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined) {
      const mayCut = isAfterEmpty && line.trim() !== "" && !CONTINUES.test(line);
      if (mayCut && at - start >= PIECE) {
        pieces.push(text.slice(start, at));
        start = at;
      }
      fence = mark;
    } else if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
    isAfterEmpty = line.trim() === "";
    at = end;
  }
  pieces.push(text.slice(start));
  return pieces;
}
