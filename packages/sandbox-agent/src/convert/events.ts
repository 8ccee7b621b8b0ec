/**
 * Makes the events that do not come from `session/update`, but from Sandbox Agent's own notifications, from errors, or
 * from the exit of a process.
 */

import type { EventBase, EventBody, SandboxEvent } from "../events.ts";
import { compact, isObject, numberOf, objectOf, textOf } from "../json.ts";
import { readLegacyEvent } from "./meta.ts";

/** The notification that a session has ended. */
export const SESSION_ENDED = "_sandboxagent/session/ended";
/** The notification that the agent could not parse something. */
export const AGENT_UNPARSED = "_sandboxagent/agent/unparsed";
/** The notification of an error that belongs to no request. */
export const AGENT_ERROR = "_sandboxagent/error";

/** Where an event comes from. */
export interface EventOrigin {
  /** The source of the event. Default: `agent`. */
  readonly source?: EventBase["source"];
  /** True if no message says what the event reports; see {@link EventBase}. Default: `false`. */
  readonly synthetic?: boolean;
  /** The parameters or the result of the message that the event was made from. */
  readonly message?: unknown;
  /** True if several events are made from the message and this is not the main one. */
  readonly isDerived?: boolean;
}

/**
 * Adds the fields that every event has. If the message carries the envelope of an older version, the fields of that
 * envelope take precedence. Its id applies only to the main event of the message: the others keep their own ids.
 */
export function eventOf(
  body: EventBody,
  base: { readonly id: string; readonly sessionId: string; readonly time: string },
  origin: EventOrigin = {},
): SandboxEvent {
  const legacy = readLegacyEvent(origin.message);
  const { source = "agent", synthetic = false, isDerived } = origin;
  if (!legacy) return { ...base, source, synthetic, ...body };
  if (isDerived) return { ...base, source: legacy.source ?? source, synthetic: true, ...body };
  return {
    ...base,
    ...compact({ id: legacy.eventId ?? base.id, sequence: legacy.sequence, agentSessionId: legacy.nativeSessionId }),
    source: legacy.source ?? source,
    synthetic: legacy.synthetic ?? synthetic,
    ...body,
  };
}

/**
 * Converts `_sandboxagent/session/ended`. Accepts field names in camel case and snake case, also inside a `data`
 * object.
 */
export function sessionEndedOf(params: unknown): EventBody {
  const outer = objectOf(params);
  const ended = isObject(outer.data) ? { ...outer, ...outer.data } : outer;
  return compact({
    type: "session.ended" as const,
    reason: textOf(ended.reason) ?? "unknown",
    terminatedBy: textOf(ended.terminatedBy ?? ended.terminated_by) ?? "agent",
    message: textOf(ended.message),
    exitCode: numberOf(ended.exitCode ?? ended.exit_code),
  });
}

/** Converts `_sandboxagent/agent/unparsed`. */
export function unparsedOf(params: unknown): EventBody {
  const { error, location, rawHash, raw_hash } = objectOf(params);
  return compact({
    type: "agent.unparsed" as const,
    error: textOf(error) ?? "the agent printed a line that is not a message",
    location: textOf(location),
    rawHash: textOf(rawHash ?? raw_hash),
  });
}

/** Converts a line of the agent's stdout that is not a message. */
export function unparsedLine(unparsed: { readonly line: string; readonly error?: string }): EventBody {
  return {
    type: "agent.unparsed",
    error: unparsed.error ?? "the agent printed a line that is not a message",
    location: "agent stdout",
    line: unparsed.line,
  };
}

/** Converts `_sandboxagent/error`. */
export function agentErrorOf(params: unknown): EventBody {
  const { message, code, details, data } = objectOf(params);
  return compact({
    type: "error" as const,
    message: textOf(message) ?? "the agent reported an error",
    code: textOf(code) ?? numberOf(code),
    details: details ?? data,
  });
}

/** How an agent's process exited, as in the event stream. */
export interface ProcessEnd {
  /** The process's exit code. */
  readonly code?: number;
  /** The signal that killed the process. */
  readonly signal?: string;
  /** Why there is no process, if it did not exit by itself. */
  readonly error?: string;
  /** The end of what the process wrote to stderr. */
  readonly stderrTail?: string;
}

/** Converts the exit of a process to the end of its sessions. */
export function processEnded(end: ProcessEnd): EventBody {
  const isClosed = end.error === "closed";
  const isFine = end.code === 0 && end.error === undefined;
  return compact({
    type: "session.ended" as const,
    reason: isClosed ? "terminated" : isFine ? "completed" : "error",
    terminatedBy: isClosed ? "daemon" : "agent",
    message: end.error ?? (end.signal && `killed by ${end.signal}`) ?? (end.stderrTail || undefined),
    exitCode: end.code,
  });
}
