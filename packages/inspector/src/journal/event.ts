/** An event of an instance's journal, and the JSON-RPC envelope in it. */

import type { WatchedEvent } from "acp-http-client";
import { isObject, type JsonObject, textOf } from "acp-http-client/internal";
import { agentErrorMessage } from "sandbox-agent/convert";
import type { Stamp } from "./types.ts";

/** The types of journal events. */
export type JournalType = "message" | "sent" | "answered" | "failed" | "unparsed" | "exit" | "gap";

/** An event of the journal. */
export interface JournalEvent {
  /** The index of the event among those that this page has received from the instance. */
  readonly index: number;
  readonly type: JournalType;
  /** The server's number of the event, by which `answered` events refer to it. */
  readonly number: number | undefined;
  readonly atMs: number | undefined;
  readonly data: unknown;
}

/** The kind of a JSON-RPC envelope. */
export type EnvelopeKind = "request" | "notification" | "response" | "other";

/** Makes the stamp of an item that is made from an event. */
export function stampOf({ index, atMs }: JournalEvent): Stamp {
  return { key: `n${index}`, atMs };
}

/** Makes a map key of a request id. The keys of `1` and `"1"` differ. */
export function keyOf(id: unknown): string {
  return JSON.stringify(id) ?? "undefined";
}

/** Returns the JSON-RPC envelope of an event; empty if the event has none. */
export function envelopeOf({ type, data }: Pick<JournalEvent, "type" | "data">): JsonObject {
  return (type === "message" || type === "sent") && isObject(data) ? data : {};
}

/** Returns the kind of an envelope. */
export function kindOf(envelope: JsonObject): EnvelopeKind {
  if (textOf(envelope.method) !== undefined) return "id" in envelope ? "request" : "notification";
  return "result" in envelope || "error" in envelope ? "response" : "other";
}

/** Makes a text of a JSON-RPC error from an agent, or of a problem document from the server. */
export function errorText(error: JsonObject): string {
  const { message, data, detail } = error;
  return agentErrorMessage(textOf(detail) ?? textOf(message) ?? "", data) || JSON.stringify(error);
}

const TYPES: ReadonlySet<string> = new Set(["message", "sent", "answered", "failed", "unparsed", "exit", "gap"]);

/** Converts a watched event to an event of an instance's journal; `undefined` if the journal has no such events. */
export function journalEventOf(event: WatchedEvent, index: number): JournalEvent | undefined {
  if (!TYPES.has(event.type)) return undefined;
  return { index, type: event.type as JournalType, number: event.event, atMs: event.atMs, data: event.data };
}
