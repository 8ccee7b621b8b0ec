/** What the journal of an instance amounts to. Everything shown but the raw lines is one of these. */

import type { AcpExit } from "acp-http-client";
import type { JsonObject } from "acp-http-client/internal";

/** A piece of content as the protocol has it. */
export type ContentBlock = JsonObject & { readonly type?: unknown };

/** How far a tool call is. */
export type ToolStatus = "pending" | "in_progress" | "completed" | "failed";

/** A tool call with everything said about it so far. */
export interface ToolItem {
  readonly type: "tool";
  readonly key: string;
  readonly toolCallId: string;
  readonly title: string;
  readonly kind: string | undefined;
  readonly status: ToolStatus;
  readonly content: readonly JsonObject[];
  readonly locations: readonly JsonObject[];
  readonly rawInput: unknown;
  readonly rawOutput: unknown;
  /** A terminal of the agent's own that it runs in. */
  readonly terminalId: string | undefined;
}

/** Something said: by the user, by the agent, or by the agent to itself. */
export interface SpeechItem {
  readonly type: "user" | "agent" | "thought";
  readonly key: string;
  readonly messageId: string | undefined;
  readonly blocks: readonly ContentBlock[];
}

/** A plan; a newer one of the same turn takes its place. */
export interface PlanItem {
  readonly type: "plan";
  readonly key: string;
  readonly entries: readonly JsonObject[];
}

/** What happened beside the conversation. */
export interface NoticeItem {
  readonly type: "notice";
  readonly key: string;
  readonly tone: "info" | "good" | "bad";
  readonly text: string;
}

export type Item = ToolItem | SpeechItem | PlanItem | NoticeItem;

/** A prompt that the agent is at work on. */
export interface Turn {
  /** The id of the prompt's request, as a key. */
  readonly requestKey: string;
  readonly promptText: string;
  readonly startedAtMs: number | undefined;
}

/** How much of the model's memory is used. */
export interface Usage {
  readonly used: number | undefined;
  readonly size: number | undefined;
  readonly cost: string | undefined;
}

/** A session as far as the journal tells. */
export interface SessionState {
  readonly id: string;
  readonly title: string | undefined;
  readonly cwd: string | undefined;
  readonly items: readonly Item[];
  /** What was there before a reload from the agent, until that has worked. */
  readonly before: readonly Item[] | undefined;
  readonly turns: readonly Turn[];
  readonly modes: JsonObject | undefined;
  readonly configOptions: readonly JsonObject[];
  readonly commands: readonly JsonObject[];
  readonly usage: Usage | undefined;
  readonly isClosed: boolean;
}

/** A request of the agent that nobody has answered. */
export interface AgentRequest {
  /** Its id as the agent wrote it, to be sent back as it came. */
  readonly id: unknown;
  readonly key: string;
  readonly event: number | undefined;
  readonly method: string;
  readonly params: JsonObject;
  readonly sessionId: string | undefined;
  readonly atMs: number | undefined;
}

/** A request to the agent that waits. */
export interface PendingRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly atMs: number | undefined;
}

/** A command that a client runs for the agent. */
export interface TerminalState {
  readonly command: string;
  readonly output: string;
  readonly exit: string | undefined;
}

export type InstanceStatus = "starting" | "running" | "exited" | "closed";

/** An instance as far as its journal tells. */
export interface InstanceState {
  readonly serverId: string;
  readonly agent: string;
  readonly status: InstanceStatus;
  readonly createdAtMs: number | undefined;
  readonly lastAtMs: number | undefined;
  readonly exit: AcpExit | undefined;
  /** What the agent said to `initialize`. */
  readonly initialized: JsonObject | undefined;
  readonly sessions: ReadonlyMap<string, SessionState>;
  /** What the agent said to `session/list`. */
  readonly listed: readonly JsonObject[] | undefined;
  readonly agentRequests: readonly AgentRequest[];
  readonly pending: ReadonlyMap<string, PendingRequest>;
  /** The agent's own requests that clients answer by machine, until they are answered. */
  readonly served: ReadonlyMap<string, PendingRequest>;
  readonly terminals: ReadonlyMap<string, TerminalState>;
}
