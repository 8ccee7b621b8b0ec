/** The public types of sessions and turns. */

import type { PromptMessage, PromptOptions } from "./client/options.ts";
import type { Choice, ConfigOption, SessionSettings } from "./convert/settings.ts";
import type { Cost, SandboxEvent, StopReason, TurnUsage } from "./events.ts";
import { compact, type JsonObject } from "./json.ts";
import type { StoredSession } from "./store/types.ts";

/** A session in a list. */
export interface SessionInfo {
  /** Identifies the session in calls. */
  readonly id: string;
  /** The agent's id. */
  readonly agent: string;
  /** The agent's own id of the session. */
  readonly agentSessionId: string;
  /** The agent's working directory. */
  readonly directory: string;
  /** The title. */
  readonly title?: string;
  /** When the session was created, in the format of RFC 3339; absent if only the agent knows the session. */
  readonly createdAt?: string;
  /** When the session was last active, in the format of RFC 3339. */
  readonly updatedAt?: string;
  /** True if the session has ended. It may still be possible to resume it. */
  readonly ended: boolean;
  /** The number of stored events. */
  readonly eventCount: number;
  /** The model. */
  readonly model?: string;
  /** The mode. */
  readonly mode?: string;
  /** Additional metadata. */
  readonly metadata: JsonObject;
  /** Who knows the session: the client's store, the agent, or both. */
  readonly knownTo: readonly ("client" | "agent")[];
}

/** The properties of an open session. */
export interface SessionProperties extends SessionInfo {
  /** The available modes. */
  readonly modes: readonly Choice[];
  /** The available models. */
  readonly models: readonly Choice[];
  /** All config options. */
  readonly options: readonly ConfigOption[];
  /** How the session was opened. */
  readonly openedBy: "new" | "loaded" | "resumed" | "forked" | "replayed" | "attached";
  /** Requested settings that could not be applied, such as an MCP server that was left out. */
  readonly warnings: readonly string[];
}

/** An open session: plain data and one method. The data describes the session at the time it was opened. */
export interface Session extends SessionProperties {
  /** Sends a prompt; the same as the client's `prompt()` with this session's id. */
  prompt(message: string | PromptMessage, options?: PromptOptions): RunningTurn;
}

/**
 * A running turn. Await it to receive its result. Or iterate over it to receive the events of its session until the
 * turn ends: the last event is `turn.ended`. If the turn fails, the loop throws the error. Leaving the loop does not
 * cancel the turn. Events from before the loop starts are not delivered, so start it at once.
 */
export interface RunningTurn extends Promise<TurnResult>, AsyncIterable<SandboxEvent> {}

/** The result of a turn. */
export interface TurnResult {
  /** Identifies the turn in events. */
  readonly turnId: string;
  /** Why the turn ended. */
  readonly stopReason: StopReason;
  /** The text of the agent's messages. */
  readonly text: string;
  /** The tokens that were used, if the agent reported them. */
  readonly usage?: TurnUsage;
  /** What the session has cost so far, if the agent reported it during the turn. */
  readonly cost?: Cost;
}

/** Converts a stored session. */
export function sessionInfo(record: StoredSession, eventCount: number): SessionInfo {
  const { id, agent, agentSessionId, directory, title, createdAt, updatedAt, model, mode, metadata } = record;
  const info = { id, agent, agentSessionId, directory, title, createdAt, updatedAt, model, mode, metadata };
  return compact({ ...info, ended: record.endedAt !== undefined, eventCount, knownTo: ["client" as const] });
}

/** Converts an open session. */
export function openSession(
  record: StoredSession,
  settings: SessionSettings,
  more: Pick<Session, "openedBy" | "warnings" | "eventCount">,
): SessionProperties {
  return {
    ...sessionInfo(record, more.eventCount),
    ...more,
    modes: settings.modes,
    models: settings.models,
    options: settings.options,
    knownTo: ["client", "agent"],
  };
}
