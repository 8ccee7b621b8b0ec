/** One line of an instance's journal, and what kind of envelope is in it. Knows JSON-RPC, and no method. */

import type { WatchedEvent } from "acp-http-client";
import { isObject, type JsonObject, textOf } from "acp-http-client/internal";

/** What a line can be. */
export type JournalType = "message" | "sent" | "answered" | "failed" | "unparsed" | "exit" | "gap";

/** A line of the journal. */
export interface JournalEvent {
  /** Its place among the lines of this instance that this page has seen. */
  readonly index: number;
  readonly type: JournalType;
  /** The server's number for it, which `answered` speaks of. */
  readonly number: number | undefined;
  readonly atMs: number | undefined;
  readonly data: unknown;
}

/** What an envelope is. */
export type EnvelopeKind = "request" | "notification" | "response" | "other";

/** An id as a key: `1` and `"1"` are two. */
export function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? "undefined";
}

/** The envelope of a event, empty where it is none. */
export function envelopeOf({ type, data }: Pick<JournalEvent, "type" | "data">): JsonObject {
  return (type === "message" || type === "sent") && isObject(data) ? data : {};
}

/** What kind of envelope it is. */
export function kindOf(envelope: JsonObject): EnvelopeKind {
  if (textOf(envelope.method) !== undefined) return "id" in envelope ? "request" : "notification";
  return "result" in envelope || "error" in envelope ? "response" : "other";
}

/** What an error says: agents put what matters into its data. */
export function errorText(error: JsonObject): string {
  const { message, data, detail } = error;
  const { details, message: inner } = isObject(data) ? data : { details: data, message: undefined };
  const more = textOf(details) ?? textOf(inner) ?? (isObject(data) ? JSON.stringify(data) : undefined);
  const content = [textOf(detail) ?? textOf(message), more].filter((part) => part !== undefined && part !== "");
  return content.length > 0 ? [...new Set(content)].join(": ") : JSON.stringify(error);
}

const TYPES: ReadonlySet<string> = new Set(["message", "sent", "answered", "failed", "unparsed", "exit", "gap"]);

/** A watched event as a event, when it is one. */
export function journalEventOf(event: WatchedEvent, index: number): JournalEvent | undefined {
  if (!TYPES.has(event.type)) return undefined;
  return { index, type: event.type as JournalType, number: event.event, atMs: event.atMs, data: event.data };
}
