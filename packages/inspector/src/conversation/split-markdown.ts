/**
 * Cuts markdown into pieces that can be shown one by one, so that only the piece that grows is read again while an
 * answer streams in, and only the pieces in view exist. Pieces are cut between paragraphs where that is possible. What
 * has no such start for long (a long list, code, a table, a paragraph without end) is cut inside, and the next piece
 * begins with what it needs to be read as the same thing.
 */

/** A piece is not cut before it has this many characters. */
const SOFT = 1500;
/** A piece is cut at the next line when it has this many, and in the middle of a line when that is as long. */
const HARD = 3000;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
/** A line that may belong to what is above the empty line: indented, or an entry of a list. */
const CONTINUES = /^(\s|[-*+] |\d+[.)] |>)/;
const DEFINITION = /^ {0,3}\[[^\]]+\]:/;
/** Addresses of links are given to every piece, so there must not be too many of them. */
const DEFINITIONS = 100;

/** A part of a text, readable on its own. */
export interface Piece {
  readonly text: string;
  /** Whether it goes on with what the piece before it ends with. */
  readonly isContinued: boolean;
}

/** A text in pieces. */
export interface Split {
  readonly source: string;
  readonly pieces: readonly Piece[];
  /** Links' addresses and footnotes, which may be defined anywhere in a text and are used anywhere in it. */
  readonly definitions: string;
  /** Where the last piece begins, from where a longer text is cut again. */
  readonly last: Start;
}

interface Start {
  readonly at: number;
  /** What the piece needs in front of it to be read as what it is a part of: a fence, the head of a table. */
  readonly head: string;
  readonly definitions: readonly string[];
}

const BEGINNING: Start = { at: 0, head: "", definitions: [] };

/** Cuts a text; `before` is how a shorter one was cut that this one begins with. */
export function splitMarkdown(source: string, before?: Split): Split {
  const isGrown = before !== undefined && source.startsWith(before.source);
  const pieces = isGrown ? before.pieces.slice(0, -1) : [];
  let start = isGrown ? before.last : BEGINNING;
  let piece = nextPiece(source, start);
  for (; piece.next !== undefined; piece = nextPiece(source, start)) {
    pieces.push(pieceOf(source, start, piece.next.at, piece.foot));
    start = piece.next;
  }
  pieces.push(pieceOf(source, start, source.length, ""));
  return { source, pieces, definitions: piece.definitions.join("\n"), last: start };
}

function pieceOf(source: string, { at, head }: Start, end: number, foot: string): Piece {
  const isMidLine = at > 0 && source[at - 1] !== "\n";
  return { text: head + source.slice(at, end) + foot, isContinued: head !== "" || isMidLine };
}

interface Found {
  /** Where the next piece begins; not there when this is the last one. */
  readonly next: Start | undefined;
  /** What closes this piece. */
  readonly foot: string;
  readonly definitions: readonly string[];
}

/** Looks for the end of the piece that begins at a start. */
function nextPiece(source: string, { at: begin, head, definitions: known }: Start): Found {
  const definitions = [...known];
  let fence = FENCE.test(head) ? head : undefined;
  let table = fence === undefined ? head : "";
  let previous = "";
  for (let at = begin; at < source.length; ) {
    const newline = source.indexOf("\n", at);
    const end = newline < 0 ? source.length : newline + 1;
    const line = source.slice(at, Math.min(end, at + HARD));
    const isEmpty = line.trim() === "";
    const length = at - begin;
    const mayCut = fence === undefined && previous === "\n" && !isEmpty && !CONTINUES.test(line);
    if ((mayCut && length >= SOFT) || length >= HARD) {
      const foot = fence === undefined ? "" : closingOf(fence);
      return { next: { at, head: fence ?? (line.startsWith("|") ? table : ""), definitions }, foot, definitions };
    }
    if (end - at > HARD) {
      const cut = wordBoundary(source, at + HARD - length);
      const foot = fence === undefined ? "" : `\n${closingOf(fence)}`;
      return { next: { at: cut, head: fence ?? "", definitions }, foot, definitions };
    }
    if (fence === undefined) {
      fence = FENCE.test(line) ? line : undefined;
      if (DEFINITION.test(line) && definitions.length < DEFINITIONS) definitions.push(line.trimEnd());
      if (!line.startsWith("|")) table = "";
      else if (/^\|[\s:|-]+\|?\s*$/.test(line) && previous.startsWith("|")) table = previous + line;
    } else if (closes(line, fence)) fence = undefined;
    previous = isEmpty ? "\n" : line;
    at = end;
  }
  return { next: undefined, foot: "", definitions };
}

function closes(line: string, fence: string): boolean {
  const mark = FENCE.exec(line)?.[1];
  return mark !== undefined && mark === line.trim() && mark.startsWith(FENCE.exec(fence)?.[1] ?? "");
}

function closingOf(fence: string): string {
  return `${FENCE.exec(fence)?.[1] ?? ""}\n`;
}

/** The last start before `limit` where a word begins; none for a word as long as a piece. */
function wordBoundary(source: string, limit: number): number {
  for (let at = limit; at > limit - 200; at -= 1) {
    // A letter, since a sign at the beginning of a line may mean something else.
    if (source[at - 1] === " " && /\p{L}/u.test(source[at] ?? "")) return at;
  }
  const isPair = (source.charCodeAt(limit) & 0xfc00) === 0xdc00;
  return isPair ? limit + 1 : limit;
}
