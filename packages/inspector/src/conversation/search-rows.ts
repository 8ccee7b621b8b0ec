/**
 * Searches the rows of a conversation. Only rows in view exist in the page, so the browser's own search does not find
 * the others.
 */

import { type JsonObject, objectOf, textOf } from "acp-http-client/internal";
import type { ContentBlock, InstanceState, TerminalState, ToolItem } from "../journal/types.ts";
import { withoutColours } from "../text/colours.ts";
import type { Row } from "./rows.ts";

/** The searchable texts that were already computed. A row or terminal that changes becomes a new object. */
const searchableTexts = new WeakMap<Row | TerminalState, string>();

/** Returns the indexes of the rows that contain a text. Ignores upper and lower case. */
export function findRows(
  rows: readonly Row[],
  text: string,
  terminals: InstanceState["terminals"] = new Map(),
): readonly number[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const isIn = (row: Row): boolean =>
    searchable(row, textOfRow).includes(wanted) ||
    terminalsOf(row).some((id) => {
      const terminal = terminals.get(id);
      return terminal !== undefined && searchable(terminal, textOfTerminal).includes(wanted);
    });
  return rows.flatMap((row, index) => (isIn(row) ? [index] : []));
}

/** Returns the next or previous found row. After the last one comes the first, and the other way round. */
export function stepTo(
  found: readonly number[],
  from: number | undefined,
  step: "next" | "previous",
): number | undefined {
  if (from === undefined) return step === "next" ? found[0] : found.at(-1);
  if (step === "next") return found.find((index) => index > from) ?? found[0];
  return found.findLast((index) => index < from) ?? found.at(-1);
}

function searchable<T extends Row | TerminalState>(part: T, textOf: (part: T) => string): string {
  const before = searchableTexts.get(part);
  if (before !== undefined) return before;
  const text = textOf(part).toLowerCase();
  searchableTexts.set(part, text);
  return text;
}

/** The terminals whose output a row shows. */
function terminalsOf(row: Row): readonly string[] {
  if (row.kind !== "item" || row.item.type !== "tool") return [];
  const { content, terminalId } = row.item;
  return [terminalId, ...content.map((part) => textOf(part.terminalId))].filter((id) => id !== undefined);
}

function textOfTerminal({ command, output }: TerminalState): string {
  return `${command}\n${withoutColours(output)}`;
}

function textOfRow(row: Row): string {
  // The text as written, and the text as shown, which is without the characters of Markdown.
  if (row.kind === "text") return `${row.text}\n${row.text.replace(/[*_`~]/g, "")}`;
  if (row.kind === "block") return textOfBlock(row.block);
  const { item } = row;
  switch (item.type) {
    case "user":
    case "thought":
      return item.blocks.map(textOfBlock).join("\n");
    case "tool":
      return textOfTool(item);
    case "plan":
      return item.entries.map(({ content }) => String(content)).join("\n");
    case "notice":
      return item.text;
  }
}

function textOfBlock(block: ContentBlock): string {
  const { text, uri } = objectOf(block.resource);
  const parts = [block.text, block.title, block.name, block.uri, text, uri].map(textOf);
  return parts.filter((part) => part !== undefined).join("\n");
}

function textOfTool({ title, kind, content, locations, rawInput, rawOutput }: ToolItem): string {
  const texts = [title, kind, ...content.map(textOfContent), ...locations.map(({ path }) => textOf(path))];
  return [...texts, ...stringsIn(rawInput), ...stringsIn(rawOutput)].filter((text) => text !== undefined).join("\n");
}

function textOfContent({ type, content, path, oldText, newText }: JsonObject): string {
  if (type !== "diff") return textOfBlock(objectOf(content));
  return [path, oldText, newText].map((part) => textOf(part) ?? "").join("\n");
}

/** Collects all strings in a JSON value as they are shown, which is without the escapes of JSON. */
function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    ...(Array.isArray(value) ? [] : [name]),
    ...stringsIn(inner),
  ]);
}
