/** Where a client keeps its index of sessions and their events. Drivers hold data; they decide nothing about it. */

import type { McpServers } from "../convert/mcp.ts";
import type { SandboxEvent } from "../events.ts";
import type { JsonObject } from "../json.ts";

/** What is kept of a session. All of it survives JSON. */
export interface StoredSession {
  /** The id by which the caller knows the session. */
  readonly id: string;
  /** The agent. */
  readonly agent: string;
  /** The agent's own id of the session; another one after a restore by replay. */
  readonly agentSessionId: string;
  /** The connection's id on the server. */
  readonly serverId: string;
  /** The directory the agent works in. */
  readonly directory: string;
  /** When it was made, RFC 3339. */
  readonly createdAt: string;
  /** When something last happened in it, RFC 3339. */
  readonly updatedAt: string;
  /** When it ended, if it has. */
  readonly endedAt?: string;
  /** Its name. */
  readonly title?: string;
  /** Its model. */
  readonly model?: string;
  /** Its mode. */
  readonly mode?: string;
  /** Whatever else the caller keeps with it. */
  readonly metadata: JsonObject;
  /** More directories it may use. */
  readonly additionalDirectories?: readonly string[];
  /** Its tool servers, needed to open it again. */
  readonly mcp?: McpServers;
  /** Which process has it; tells an attached agent from a restarted one. */
  readonly process?: string;
  /** The turn that is on. */
  readonly turnId?: string;
  /** Where to go on listening, when the client has detached. */
  readonly cursor?: string;
}

/** A session and how many events there were in it. */
export type IndexedSession = StoredSession & { readonly eventCount: number };

/** An event and its place in its session. */
export interface StoredEvent {
  /** Its place: 1, 2, 3 and so on. */
  readonly sequence: number;
  /** The event. */
  readonly event: SandboxEvent;
}

/** A part of a list. */
export interface Page<T> {
  /** The entries. */
  readonly items: readonly T[];
  /** Where the next part begins; absent at the end. */
  readonly next?: string;
}

/** Which events to read. */
export interface EventRange {
  /** Only those behind this place. */
  readonly after?: number;
  /** Only those in front of this place. */
  readonly before?: number;
  /** At most this many; all unless told. */
  readonly limit?: number;
  /** Whether to begin with the newest. */
  readonly newestFirst?: boolean;
}

/** A place to keep sessions and events. */
export interface SessionStore {
  /** One session. */
  getSession(id: string): Promise<IndexedSession | undefined>;
  /** Sessions, the ones last used first. */
  listSessions(part?: { readonly limit?: number; readonly cursor?: string }): Promise<Page<IndexedSession>>;
  /** Keeps a session, in place of an earlier state of it. Its events stay. */
  putSession(session: StoredSession): Promise<void>;
  /** Forgets a session and its events. Fine when there is none. */
  deleteSession(id: string): Promise<void>;
  /**
   * Adds events in order, all or none. An event whose id is there already is left out.
   *
   * @returns The place of the last event of the session.
   * @throws NotFoundError when there is no such session.
   */
  appendEvents(sessionId: string, events: readonly SandboxEvent[]): Promise<number>;
  /** Reads events; none when there is no such session. */
  listEvents(sessionId: string, range?: EventRange): Promise<readonly StoredEvent[]>;
  /** Lets go of files and connections. */
  close(): Promise<void>;
}
