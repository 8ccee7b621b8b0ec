/** The product's corner of `_meta`: everything of ours that the protocol has no field for lives there. */

import { compact, isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from "../json.ts";

/** The key under which this product keeps its metadata. */
export const META_NAMESPACE = "sandboxagent.dev";

/** What sessions and content may carry beside the protocol's own fields. Unknown keys are kept as they are. */
export interface SandboxMetadata {
  /** The agent that the session belongs to. */
  readonly agent?: string;
  /** The version of the agent that was asked for. */
  readonly agentVersionRequested?: string;
  /** A name for the session. */
  readonly title?: string;
  /** The model that was asked for. */
  readonly model?: string;
  /** The mode that was asked for. */
  readonly mode?: string;
  /** How permissions are to be handled. */
  readonly permissionMode?: string;
  /** Skills for the session. */
  readonly skills?: unknown;
  /** The id by which the caller knows the session, whatever the agent calls it. */
  readonly requestedSessionId?: string;
  /** The name of an attached file. */
  readonly filename?: string;
  /** Whatever else is there. */
  readonly [key: string]: unknown;
}

/** Reads the product's metadata of anything with a `_meta`. Empty when there is none. */
export function readMetadata(value: unknown): SandboxMetadata {
  return objectOf(objectOf(objectOf(value)._meta)[META_NAMESPACE]);
}

/** Adds metadata to a `_meta`, keeping what others put there. `undefined` values are left out. */
export function mergeMetadata(meta: unknown, metadata: JsonObject): JsonObject {
  const before = objectOf(meta);
  const ours = { ...objectOf(before[META_NAMESPACE]), ...compact(metadata) };
  return Object.keys(ours).length === 0 ? before : { ...before, [META_NAMESPACE]: ours };
}

/** The value with metadata added; unchanged when there is nothing to add. */
export function withMetadata<T extends object>(value: T, metadata: JsonObject): T {
  const meta = mergeMetadata("_meta" in value ? value._meta : undefined, metadata);
  return Object.keys(meta).length === 0 ? value : { ...value, _meta: meta };
}

/** The envelope that older events carried. */
export interface LegacyEvent {
  /** The event's id. */
  readonly eventId?: string;
  /** Its place in the session. */
  readonly sequence?: number;
  /** Who caused it. */
  readonly source?: "agent" | "daemon" | "client";
  /** Whether it was derived and not sent. */
  readonly synthetic?: boolean;
  /** The agent's own id of the session. */
  readonly nativeSessionId?: string;
}

const SOURCES = ["agent", "daemon", "client"] as const;

/** Reads `_meta["sandboxagent.dev"].legacyEvent`. */
export function readLegacyEvent(value: unknown): LegacyEvent | undefined {
  const event = readMetadata(value).legacyEvent;
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

/** What an agent says in `initialize` about the extensions it has. */
export interface Extensions {
  /** The names of extension methods it takes. */
  readonly methods: readonly string[];
  /** Switches such as `sessionListModels`. */
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
