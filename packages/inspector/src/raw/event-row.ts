/** The row of a journal event in the raw view. */

import { isObject, objectOf, textOf } from "acp-http-client/internal";
import { envelopeOf, type JournalEvent, kindOf } from "../journal/event.ts";
import type { Pairs } from "../journal/pairs.ts";

export const DIRECTIONS = {
  all: "Both directions",
  message: "From the agent",
  sent: "To the agent",
  other: "Server events",
} as const;

export type Direction = keyof typeof DIRECTIONS;

export interface RawFilter {
  readonly direction: Direction;
  readonly text: string;
}

/** The cells of a row. */
export interface Row {
  readonly sign: string;
  readonly direction: string;
  readonly summary: string;
  readonly id: string;
  readonly latency: string;
  readonly size: number;
}

export function rowOf(event: JournalEvent, pairs: Pairs): Row {
  const envelope = envelopeOf(event);
  const peer = pairs.peerOf(event.index);
  const sign = event.type === "message" ? "←" : event.type === "sent" ? "→" : "·";
  const direction =
    event.type === "message" ? "from the agent" : event.type === "sent" ? "to the agent" : "server event";
  const id = "id" in envelope ? JSON.stringify(envelope.id) : "";
  const latency = peer?.latencyMs === undefined ? "" : `${peer.latencyMs} ms`;
  return { sign, direction, summary: summaryOf(event, peer?.method), id, latency, size: sizeOf(event) };
}

function summaryOf(event: JournalEvent, answered: string | undefined): string {
  const envelope = envelopeOf(event);
  const data = objectOf(event.data);
  switch (event.type) {
    case "answered":
      return `answered ${JSON.stringify(data.id)}`;
    case "failed":
      return `failed ${JSON.stringify(data.id)}: ${textOf(objectOf(data.problem).detail) ?? ""}`;
    case "unparsed":
      return `unparsed: ${textOf(data.line) ?? ""}`;
    case "exit":
      return `exit ${JSON.stringify(data.code ?? data.signal ?? data.error ?? "")}`;
    case "gap":
      return `gap: events between ${String(data.after)} and ${String(data.next)} are lost`;
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
  // The kind of update comes first, because the method is the same for all updates.
  return update === undefined ? method : `${update} · ${method}`;
}

const texts = new WeakMap<JournalEvent, string>();

/** Returns the event as JSON. The text is computed when the event is first shown. */
export function jsonOfEvent(event: JournalEvent): string {
  const known = texts.get(event);
  if (known !== undefined) return known;
  const text = JSON.stringify(event.data) ?? "";
  texts.set(event, text);
  return text;
}

const sizes = new WeakMap<JournalEvent, number>();

/** Returns the size of the event as JSON, in bytes. */
export function sizeOf(event: JournalEvent): number {
  const known = sizes.get(event);
  if (known !== undefined) return known;
  const size = new TextEncoder().encode(jsonOfEvent(event)).length;
  sizes.set(event, size);
  return size;
}

/** True if an event has the direction of the filter and contains all of its words. */
export function matches(event: JournalEvent, pairs: Pairs, { direction, text }: RawFilter): boolean {
  const side = event.type === "message" || event.type === "sent" ? event.type : "other";
  if (direction !== "all" && direction !== side) return false;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const content =
    `${event.type} ${summaryOf(event, pairs.peerOf(event.index)?.method)} ${jsonOfEvent(event)}`.toLowerCase();
  return words.every((word) => content.includes(word));
}

/** Writes the events as JSONL, which is one JSON object per line. */
export function exportEvents(events: readonly JournalEvent[]): string {
  const lines = events.map(({ type, number, atMs, data }) => JSON.stringify({ type, event: number, atMs, data }));
  return lines.map((line) => `${line}\n`).join("");
}

export function timeText(atMs: number | undefined): string {
  if (atMs === undefined) return "";
  const date = new Date(atMs);
  const two = (value: number): string => String(value).padStart(2, "0");
  const milliseconds = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${milliseconds}`;
}
