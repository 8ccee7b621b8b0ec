/** Sessions as callers see them. */

import type { Choice, ConfigOption, SessionSettings } from "./convert/settings.ts";
import { compact, type JsonObject } from "./json.ts";
import type { StoredSession } from "./store/types.ts";

/** What is known about a session without opening it. */
export interface SessionInfo {
  /** Names the session in calls. */
  readonly id: string;
  /** The agent. */
  readonly agent: string;
  /** The agent's own id of the session. */
  readonly agentSessionId: string;
  /** The directory the agent works in. */
  readonly directory: string;
  /** Its name. */
  readonly title?: string;
  /** When it was made, RFC 3339; absent when only the agent knows the session. */
  readonly createdAt?: string;
  /** When something last happened in it, RFC 3339. */
  readonly updatedAt?: string;
  /** Whether it is over. It may still be possible to resume it. */
  readonly ended: boolean;
  /** How many events there were. */
  readonly eventCount: number;
  /** Its model. */
  readonly model?: string;
  /** Its mode. */
  readonly mode?: string;
  /** Whatever else is kept with it. */
  readonly metadata: JsonObject;
  /** Who knows it: the client's index, the agent, or both. */
  readonly knownTo: readonly ("client" | "agent")[];
}

/** An open session. */
export interface Session extends SessionInfo {
  /** The modes it can be in. */
  readonly modes: readonly Choice[];
  /** The models it can use. */
  readonly models: readonly Choice[];
  /** All its settings. */
  readonly options: readonly ConfigOption[];
  /** How it was opened. */
  readonly openedBy: "new" | "loaded" | "resumed" | "forked" | "replayed" | "attached";
  /** What was asked for and could not be done, such as a tool server that was left out. */
  readonly warnings: readonly string[];
}

/** What a turn has come to. */
export interface TurnResult {
  /** Names the turn in events. */
  readonly turnId: string;
  /** Why it is over. */
  readonly stopReason: string;
  /** What the agent said. */
  readonly text: string;
}

/** A stored session as callers see it. */
export function sessionInfo(record: StoredSession, eventCount: number): SessionInfo {
  const { id, agent, agentSessionId, directory, title, createdAt, updatedAt, model, mode, metadata } = record;
  const info = { id, agent, agentSessionId, directory, title, createdAt, updatedAt, model, mode, metadata };
  return compact({ ...info, ended: record.endedAt !== undefined, eventCount, knownTo: ["client" as const] });
}

/** An open session as callers see it. */
export function openSession(
  record: StoredSession,
  settings: SessionSettings,
  more: Pick<Session, "openedBy" | "warnings" | "eventCount">,
): Session {
  return {
    ...sessionInfo(record, more.eventCount),
    ...more,
    modes: settings.modes,
    models: settings.models,
    options: settings.options,
    knownTo: ["client", "agent"],
  };
}
