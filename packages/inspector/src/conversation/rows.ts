/**
 * Converts a conversation to the rows of a virtual list. A long answer is split into many rows, so that each of them is
 * rendered quickly. Unchanged rows are the same objects as before, so that they are not rendered again.
 */

import { textOf } from "acp-http-client/internal";
import type { ContentBlock, Item, SpeechItem } from "../journal/types.ts";
import { type Split, splitMarkdown } from "./split-markdown.ts";

/** A row of the conversation. */
export type Row =
  | { readonly kind: "item"; readonly key: string; readonly item: OtherItem }
  | {
      readonly kind: "text";
      readonly key: string;
      readonly text: string;
      readonly definitions: string;
      readonly part: Part;
      readonly origin: Origin;
    }
  | { readonly kind: "block"; readonly key: string; readonly block: ContentBlock; readonly part: Part };

/** Where the text of a row comes from: a content block of a message, and a position in that block's text. */
export interface Origin {
  readonly item: string;
  readonly block: number;
  readonly at: number;
  readonly headLength: number;
}

/** Everything except the agent's messages. */
export type OtherItem = Exclude<Item, SpeechItem> | (SpeechItem & { readonly type: "user" | "thought" });

/** How a row relates to the one above it: a new message, more of the same message, or the middle of a paragraph. */
export type Part = "first" | "next" | "continued";

/** Makes a converter that reuses unchanged rows. */
export function createRows(): (items: readonly Item[]) => readonly Row[] {
  let made = new Map<string, Made>();
  return (items) => {
    const now = new Map<string, Made>();
    const rows: Row[] = [];
    for (const item of items) {
      const known = made.get(item.key);
      const current = known?.item === item ? known : rowsOf(item, known);
      now.set(item.key, current);
      for (const row of current.rows) rows.push(row);
    }
    made = now;
    return rows;
  };
}

interface Made {
  readonly item: Item;
  readonly rows: readonly Row[];
  readonly splits: readonly (Split | undefined)[];
}

function rowsOf(item: Item, known: Made | undefined): Made {
  if (item.type === "agent") return answerRows(item, known);
  // The cast is needed because TypeScript does not narrow `SpeechItem` by its `type`.
  return { item, rows: [{ kind: "item", key: item.key, item: item as OtherItem }], splits: [] };
}

function answerRows(item: SpeechItem, known: Made | undefined): Made {
  const rows: Row[] = [];
  const add = (row: Row): void => {
    const before = known?.rows[rows.length];
    rows.push(before && isSame(before, row) ? before : row);
  };
  const splits = item.blocks.map((block, index) => {
    const key = `${item.key} ${index}`;
    if (block.type !== "text") {
      add({ kind: "block", key, block, part: rows.length === 0 ? "first" : "next" });
      return undefined;
    }
    const split = splitMarkdown(textOf(block.text) ?? "", known?.splits[index]);
    const { pieces, definitions } = split;
    for (const [number, { text, isContinued, at, headLength }] of pieces.entries()) {
      const part = rows.length === 0 ? "first" : isContinued ? "continued" : "next";
      const origin = { item: item.key, block: index, at, headLength };
      add({ kind: "text", key: `${key} ${number}`, text, definitions, part, origin });
    }
    return split;
  });
  return { item, rows, splits };
}

function isSame(one: Row, other: Row): boolean {
  if (one.key !== other.key) return false;
  if (one.kind === "text" && other.kind === "text") {
    const isSameText = one.text === other.text && one.origin.at === other.origin.at;
    return isSameText && one.definitions === other.definitions && one.part === other.part;
  }
  return one.kind === "block" && other.kind === "block" && one.block === other.block && one.part === other.part;
}

const LINE_PX = 23;
const COLUMN = 90;

/** Estimates the height of a row that has not been measured yet. */
export function estimateHeight(row: Row): number {
  if (row.kind === "block") return 120;
  if (row.kind === "text") return 20 + LINE_PX * (row.text.length / COLUMN + row.text.split("\n").length * 0.7);
  switch (row.item.type) {
    case "user":
      return 74;
    case "plan":
      return 60 + LINE_PX * row.item.entries.length;
    case "tool":
      return 54;
    case "thought":
    case "notice":
      return 36;
  }
}
