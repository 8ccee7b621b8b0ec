/**
 * Splits Markdown into pieces, so that only the last piece is parsed again while an answer streams in, and only pieces
 * in view are rendered. Splits between paragraphs if possible. A long list, code block, table or paragraph is itself
 * split: the next piece then repeats what a parser needs to see the same kind of block, such as the head of a table.
 */

import { closesFence, fenceOf } from "../text/fenced-code.ts";

/** A piece of at least this many characters ends at the next good place, such as the end of a paragraph. */
const SOFT = 1500;
/** A piece of this many characters ends at the next line. A line that is even longer is split itself. */
const HARD = 3000;
/** Matches a line after an empty line that may belong to the block before it: indented, a list item, or quoted. */
const CONTINUES = /^(\s|[-*+] |\d+[.)] |>)/;
const DEFINITION = /^ {0,3}\[[^\]]+\]:/;
/** Link definitions are added to every piece, so their number is limited. */
const DEFINITIONS = 100;

/** A piece of text that can be parsed on its own. */
export interface Piece {
  readonly text: string;
  /** True if it continues the last block of the previous piece. */
  readonly isContinued: boolean;
  /** Where the piece starts in the whole text. */
  readonly at: number;
  /** How many characters at the start of `text` repeat an earlier part of the whole text. */
  readonly headLength: number;
}

/** A text that was split. */
export interface Split {
  readonly source: string;
  readonly pieces: readonly Piece[];
  /** Link definitions and footnotes, which apply to all pieces. */
  readonly definitions: string;
  /** The start of the last piece. When the text grows, it is split again only from there. */
  readonly last: Start;
}

interface Start {
  readonly at: number;
  /** What the piece must repeat to be parsed as the same kind of block: a fence, or the head of a table. */
  readonly head: string;
  readonly definitions: readonly string[];
}

const BEGINNING: Start = { at: 0, head: "", definitions: [] };

/** Splits a text. `before` is an earlier result: if the text starts with that result's text, its pieces are reused. */
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
  const text = head + source.slice(at, end) + foot;
  return { text, isContinued: head !== "" || isMidLine, at, headLength: head.length };
}

interface Found {
  /** The start of the next piece; `undefined` for the last one. */
  readonly next: Start | undefined;
  /** Text that closes an open code block at the end of this piece. */
  readonly foot: string;
  readonly definitions: readonly string[];
}

/** Finds the end of the piece that starts here. */
function nextPiece(source: string, { at: begin, head, definitions: known }: Start): Found {
  const definitions = [...known];
  let fence = fenceOf(head) === undefined ? undefined : head;
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
      fence = fenceOf(line) === undefined ? undefined : line;
      if (DEFINITION.test(line) && definitions.length < DEFINITIONS) definitions.push(line.trimEnd());
      if (!line.startsWith("|")) table = "";
      else if (/^\|[\s:|-]+\|?\s*$/.test(line) && previous.startsWith("|")) table = previous + line;
    } else if (closesFence(line, fence)) fence = undefined;
    previous = isEmpty ? "\n" : line;
    at = end;
  }
  return { next: undefined, foot: "", definitions };
}

function closingOf(fence: string): string {
  return `${fenceOf(fence) ?? ""}\n`;
}

/** The position of the last word boundary before `limit`. Within a very long word, `limit` itself. */
function wordBoundary(source: string, limit: number): number {
  for (let at = limit; at > limit - 200; at -= 1) {
    // The word must start with a letter: punctuation at the start of a line may be Markdown syntax.
    if (source[at - 1] === " " && /\p{L}/u.test(source[at] ?? "")) return at;
  }
  const isPair = (source.charCodeAt(limit) & 0xfc00) === 0xdc00;
  return isPair ? limit + 1 : limit;
}
