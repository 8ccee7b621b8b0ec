/** The interface that every session store implements. A store only keeps data; it makes no decisions about it. */

import type { McpServers } from "../convert/mcp.ts";
import type { SandboxEvent } from "../events.ts";
import type { JsonObject } from "../json.ts";

/** The record of a session. It is plain JSON. */
export interface StoredSession {
  /** Identifies the session in calls. */
  readonly id: string;
  /** The agent's id. */
  readonly agent: string;
  /** The agent's own id of the session. It changes when the conversation is replayed to a new session of the agent. */
  readonly agentSessionId: string;
  /** The id of the instance on the server. */
  readonly serverId: string;
  /** The agent's working directory. */
  readonly directory: string;
  /** When the session was created, in the format of RFC 3339. */
  readonly createdAt: string;
  /** When the session was last active, in the format of RFC 3339. */
  readonly updatedAt: string;
  /** When the session ended, in the format of RFC 3339. */
  readonly endedAt?: string;
  /** The title. */
  readonly title?: string;
  /** The model. */
  readonly model?: string;
  /** The mode. */
  readonly mode?: string;
  /** Additional metadata. */
  readonly metadata: JsonObject;
  /** Additional directories that the agent may use. */
  readonly additionalDirectories?: readonly string[];
  /** The MCP servers, needed to reopen the session. */
  readonly mcp?: McpServers;
  /** Identifies the agent's process. After a restart it is another value. */
  readonly process?: string;
  /** The id of the running turn. */
  readonly turnId?: string;
  /** The event to resume after, if the client has detached. */
  readonly cursor?: string;
}

/** A session and the number of its events. */
export type IndexedSession = StoredSession & { readonly eventCount: number };

/** An event and its sequence number in its session. */
export interface StoredEvent {
  /** The sequence number: 1, 2, 3 and so on. */
  readonly sequence: number;
  /** The event. */
  readonly event: SandboxEvent;
}

/** A page of a list. */
export interface Page<T> {
  /** The entries. */
  readonly items: readonly T[];
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string;
}

/** Which events to read. */
export interface EventRange {
  /** The sequence number after which to start. */
  readonly after?: number;
  /** The sequence number before which to stop. */
  readonly before?: number;
  /** How many events to read at most. Default: all. */
  readonly limit?: number;
  /** True to read the newest events first. */
  readonly newestFirst?: boolean;
}

/** Stores sessions and events. */
export interface SessionStore {
  /** Reads a session. */
  getSession(id: string): Promise<IndexedSession | undefined>;
  /** Lists sessions, most recently used first. */
  listSessions(part?: { readonly limit?: number; readonly cursor?: string }): Promise<Page<IndexedSession>>;
  /** Stores a session, replacing its previous record. Its events are kept. */
  putSession(session: StoredSession): Promise<void>;
  /** Deletes a session and its events. Succeeds if there is no such session. */
  deleteSession(id: string): Promise<void>;
  /**
   * Appends events in order: either all or, if there is an error, none. Skips events whose id is stored already.
   *
   * @returns The sequence number of the session's last event.
   * @throws NotFoundError when there is no such session.
   */
  appendEvents(sessionId: string, events: readonly SandboxEvent[]): Promise<number>;
  /** Reads events; empty if there is no such session. */
  listEvents(sessionId: string, range?: EventRange): Promise<readonly StoredEvent[]>;
  /** Closes files and connections. */
  close(): Promise<void>;
}
