/** A line of the journal in a row: pure. */

import { isObject, objectOf, textOf } from "acp-http-client/internal";
import { envelopeOf, type JournalEvent, kindOf } from "../journal/event.ts";
import type { Pairs } from "../journal/pairs.ts";

export const DIRECTIONS = {
  all: "Both directions",
  message: "From the agent",
  sent: "To the agent",
  other: "Beside the messages",
} as const;

export type Direction = keyof typeof DIRECTIONS;

export interface RawFilter {
  readonly direction: Direction;
  readonly text: string;
}

/** What a row shows. */
export interface Row {
  readonly sign: string;
  readonly direction: string;
  readonly what: string;
  readonly id: string;
  readonly latency: string;
  readonly size: number;
}

export function describe(line: JournalEvent, pairs: Pairs): Row {
  const envelope = envelopeOf(line);
  const peer = pairs.peerOf(line.index);
  const sign = line.type === "message" ? "←" : line.type === "sent" ? "→" : "·";
  const direction =
    line.type === "message" ? "from the agent" : line.type === "sent" ? "to the agent" : "beside the messages";
  const id = "id" in envelope ? JSON.stringify(envelope.id) : "";
  const latency = peer?.latencyMs === undefined ? "" : `${peer.latencyMs} ms`;
  return { sign, direction, what: whatOf(line, peer?.method), id, latency, size: sizeOf(line) };
}

function whatOf(line: JournalEvent, answered: string | undefined): string {
  const envelope = envelopeOf(line);
  const data = objectOf(line.data);
  switch (line.type) {
    case "answered":
      return `answered ${JSON.stringify(data.id)}`;
    case "failed":
      return `failed ${JSON.stringify(data.id)}: ${textOf(objectOf(data.problem).detail) ?? ""}`;
    case "unparsed":
      return `unparsed: ${textOf(data.line) ?? ""}`;
    case "exit":
      return `exit ${JSON.stringify(data.code ?? data.signal ?? data.error ?? "")}`;
    case "gap":
      return `gap: lines ${String(data.after)} to ${String(data.next)} are gone`;
    case "message":
    case "sent":
      break;
  }
  if (kindOf(envelope) === "response") {
    const outcome = isObject(envelope.error) ? `error: ${textOf(envelope.error.message) ?? ""}` : "result";
    return answered === undefined ? outcome : `${outcome} of ${answered}`;
  }
  const method = textOf(envelope.method) ?? "?";
  const update = textOf(objectOf(objectOf(envelope.params).update).sessionUpdate);
  // What kind of update it is tells more than that it is one, and comes first where there is little room.
  return update === undefined ? method : `${update} · ${method}`;
}

const texts = new WeakMap<JournalEvent, string>();

/** A line as JSON; made once, when it is first looked at. */
export function textOfLine(line: JournalEvent): string {
  const known = texts.get(line);
  if (known !== undefined) return known;
  const text = JSON.stringify(line.data) ?? "";
  texts.set(line, text);
  return text;
}

const sizes = new WeakMap<JournalEvent, number>();

/** Bytes of the line as JSON. */
export function sizeOf(line: JournalEvent): number {
  const known = sizes.get(line);
  if (known !== undefined) return known;
  const size = new TextEncoder().encode(textOfLine(line)).length;
  sizes.set(line, size);
  return size;
}

/** Whether a line is asked for. All words must be in it. */
export function fits(line: JournalEvent, pairs: Pairs, { direction, text }: RawFilter): boolean {
  const side = line.type === "message" || line.type === "sent" ? line.type : "other";
  if (direction !== "all" && direction !== side) return false;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const content = `${line.type} ${whatOf(line, pairs.peerOf(line.index)?.method)} ${textOfLine(line)}`.toLowerCase();
  return words.every((word) => content.includes(word));
}

/** Lines for a file: one JSON object each. */
export function exportLines(lines: readonly JournalEvent[]): string {
  return lines.map(({ type, event, atMs, data }) => `${JSON.stringify({ type, event, atMs, data })}\n`).join("");
}

export function timeText(atMs: number | undefined): string {
  if (atMs === undefined) return "";
  const date = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, "0");
  const milliseconds = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${milliseconds}`;
}
