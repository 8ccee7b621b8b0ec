/** Sessions and events to put into stores in tests. */

import type { SandboxEvent } from "../events.ts";
import type { StoredSession } from "../store/types.ts";

const TIME = "2026-01-01T00:00:00.000Z";

/** The record of a session. */
export function storedSession(id: string, more: Partial<StoredSession> = {}): StoredSession {
  return {
    id,
    agent: "mock",
    agentSessionId: `native-${id}`,
    serverId: "server",
    directory: "/projects",
    createdAt: TIME,
    updatedAt: TIME,
    metadata: {},
    ...more,
  };
}

/** An event with this id. */
export function errorEvent(id: string, { sessionId = "s", message = id } = {}): SandboxEvent {
  return { id, sessionId, time: TIME, source: "agent", synthetic: false, type: "error", message };
}
