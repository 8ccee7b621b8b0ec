/** An event of an instance's journal, and the JSON-RPC envelope in it. */

import type { WatchedEvent } from "acp-http-client";
import { isObject, type JsonObject, textOf } from "acp-http-client/internal";
import type { Stamp } from "./types.ts";

/** The types of journal events. */
export type JournalType = "message" | "sent" | "answered" | "failed" | "unparsed" | "exit" | "gap";

/** An event of the journal. */
export interface JournalEvent {
  /** Its index among the events of this instance that this page has received. */
  readonly index: number;
  readonly type: JournalType;
  /** The server's number of the event, which `answered` refers to. */
  readonly number: number | undefined;
  readonly atMs: number | undefined;
  readonly data: unknown;
}

/** The kind of an envelope. */
export type EnvelopeKind = "request" | "notification" | "response" | "other";

/** The stamp of the item that is made from an event. */
export function stampOf({ index, atMs }: JournalEvent): Stamp {
  return { key: `n${index}`, atMs };
}

/** A request id as a map key: `1` and `"1"` differ. */
export function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? "undefined";
}

/** The envelope of an event; empty if it has none. */
export function envelopeOf({ type, data }: Pick<JournalEvent, "type" | "data">): JsonObject {
  return (type === "message" || type === "sent") && isObject(data) ? data : {};
}

/** The kind of an envelope. */
export function kindOf(envelope: JsonObject): EnvelopeKind {
  if (textOf(envelope.method) !== undefined) return "id" in envelope ? "request" : "notification";
  return "result" in envelope || "error" in envelope ? "response" : "other";
}

/** The text of an error. Agents put the details into its data. */
export function errorText(error: JsonObject): string {
  const { message, data, detail } = error;
  const { details, message: inner } = isObject(data) ? data : { details: data, message: undefined };
  const more = textOf(details) ?? textOf(inner) ?? (isObject(data) ? JSON.stringify(data) : undefined);
  const content = [textOf(detail) ?? textOf(message), more].filter((part) => part !== undefined && part !== "");
  return content.length > 0 ? [...new Set(content)].join(": ") : JSON.stringify(error);
}

const TYPES: ReadonlySet<string> = new Set(["message", "sent", "answered", "failed", "unparsed", "exit", "gap"]);

/** Converts a watched event, if it is one of an instance's journal. */
export function journalEventOf(event: WatchedEvent, index: number): JournalEvent | undefined {
  if (!TYPES.has(event.type)) return undefined;
  return { index, type: event.type as JournalType, number: event.event, atMs: event.atMs, data: event.data };
}
