/**
 * Sandbox Agent's metadata: a namespace in the protocol's `_meta`, for everything that the protocol has no field for.
 */

import { compact, isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from "../json.ts";

/** The key of Sandbox Agent's metadata. */
export const META_NAMESPACE = "sandboxagent.dev";

/** The metadata of sessions and content. Unknown keys are preserved. */
export interface SandboxMetadata {
  /** The agent that the session belongs to. */
  readonly agent?: string;
  /** The requested version of the agent. */
  readonly agentVersionRequested?: string;
  /** The session's title. */
  readonly title?: string;
  /** The requested model. */
  readonly model?: string;
  /** The requested mode. */
  readonly mode?: string;
  /** How permissions are handled. */
  readonly permissionMode?: string;
  /** Skills for the session. */
  readonly skills?: unknown;
  /** The session id that the caller has chosen. */
  readonly requestedSessionId?: string;
  /** The name of an attached file. */
  readonly filename?: string;
  /** Anything else. */
  readonly [key: string]: unknown;
}

/** Reads the metadata of a value that has a `_meta`. Empty if there is none. */
export function readMetadata(value: unknown): SandboxMetadata {
  return objectOf(objectOf(objectOf(value)._meta)[META_NAMESPACE]);
}

/**
 * Reads the metadata of a message's parameters or result. In a `session/update`, the metadata may be beside the update
 * or inside it; the update's own takes precedence.
 */
export function readMessageMetadata(message: unknown): SandboxMetadata {
  return { ...readMetadata(message), ...readMetadata(objectOf(message).update) };
}

/** Adds metadata to a `_meta` object and preserves its other keys. `undefined` values are left out. */
export function mergeMetadata(meta: unknown, metadata: JsonObject): JsonObject {
  const before = objectOf(meta);
  const ours = { ...objectOf(before[META_NAMESPACE]), ...compact(metadata) };
  return Object.keys(ours).length === 0 ? before : { ...before, [META_NAMESPACE]: ours };
}

/** Adds metadata to a value; returns the value itself if there is nothing to add. */
export function withMetadata<T extends object>(value: T, metadata: JsonObject): T {
  const meta = mergeMetadata("_meta" in value ? value._meta : undefined, metadata);
  return Object.keys(meta).length === 0 ? value : { ...value, _meta: meta };
}

/** The envelope with which agents for older versions of Sandbox Agent wrap an event. */
export interface LegacyEvent {
  /** The event's id. */
  readonly eventId?: string;
  /** The event's sequence number in the session. */
  readonly sequence?: number;
  /** The source of the event. */
  readonly source?: "agent" | "daemon" | "client";
  /** True if the event was not made from a message. */
  readonly synthetic?: boolean;
  /** The agent's session id. */
  readonly nativeSessionId?: string;
}

const SOURCES = ["agent", "daemon", "client"] as const;

/** Reads `_meta["sandboxagent.dev"].legacyEvent` of a message's parameters or result. */
export function readLegacyEvent(message: unknown): LegacyEvent | undefined {
  const event = readMessageMetadata(message).legacyEvent;
  if (!isObject(event)) return undefined;
  const source = SOURCES.find((known) => known === event.source);
  return compact({
    eventId: textOf(event.eventId ?? event.event_id),
    sequence: numberOf(event.sequence),
    source,
    synthetic: typeof event.synthetic === "boolean" ? event.synthetic : undefined,
    nativeSessionId: textOf(event.nativeSessionId ?? event.native_session_id),
  });
}

/** The extensions that an agent reports in `initialize`. */
export interface Extensions {
  /** The extension methods that the agent supports. */
  readonly methods: readonly string[];
  /** Flags such as `sessionListModels`. */
  readonly flags: Readonly<Record<string, boolean>>;
}

/** Reads `agentCapabilities._meta["sandboxagent.dev"].extensions`. */
export function readExtensions(agentCapabilities: unknown): Extensions {
  const extensions = objectOf(readMetadata(agentCapabilities).extensions);
  const flags = Object.entries(extensions).filter((entry): entry is [string, boolean] => typeof entry[1] === "boolean");
  return {
    methods: listOf(extensions.methods).filter((method): method is string => typeof method === "string"),
    flags: Object.fromEntries(flags),
  };
}
