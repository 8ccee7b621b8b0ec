/** The types of an instance's state, which is computed from the instance's journal. */

import type { AcpExit } from "acp-http-client";
import type { JsonObject } from "acp-http-client/internal";

/** A content block of the protocol. */
export type ContentBlock = JsonObject & { readonly type?: unknown };

/** The key and the time of an item. */
export interface Stamp {
  /** Identifies the item. */
  readonly key: string;
  /** When the event happened that the item is made from; `undefined` if that is not known. */
  readonly atMs: number | undefined;
}

/** The status of a tool call. */
export type ToolStatus = "pending" | "in_progress" | "completed" | "failed";

/** A tool call with everything reported about it so far. */
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
  /** When the tool call was first reported or, if it had to wait for permission, when it began to run. */
  readonly startedAtMs: number | undefined;
  /** When the tool call was completed or failed. */
  readonly endedAtMs: number | undefined;
  /** The id of the agent's own terminal that the tool call runs in. */
  readonly terminalId: string | undefined;
}

/** A message from the user, a message from the agent, or a thought. */
export interface SpeechItem {
  readonly type: "user" | "agent" | "thought";
  readonly key: string;
  readonly messageId: string | undefined;
  /** When the message or thought began. */
  readonly atMs: number | undefined;
  /** For a prompt: when its turn ended. */
  readonly endedAtMs?: number | undefined;
  readonly blocks: readonly ContentBlock[];
}

/** A plan. A newer plan in the same turn replaces it. */
export interface PlanItem {
  readonly type: "plan";
  readonly key: string;
  readonly entries: readonly JsonObject[];
}

/** A notice from this page that is shown between the messages. */
export interface NoticeItem {
  readonly type: "notice";
  readonly key: string;
  readonly tone: "info" | "good" | "bad";
  readonly text: string;
}

export type Item = ToolItem | SpeechItem | PlanItem | NoticeItem;

/** A prompt that the agent is working on. */
export interface Turn {
  /** The id of the prompt's request, as a map key. */
  readonly requestKey: string;
  readonly promptText: string;
  readonly startedAtMs: number | undefined;
}

/** The use of the context window. */
export interface Usage {
  readonly used: number | undefined;
  readonly size: number | undefined;
  readonly cost: string | undefined;
}

/** The state of a session. */
export interface SessionState {
  readonly id: string;
  readonly title: string | undefined;
  readonly cwd: string | undefined;
  readonly items: readonly Item[];
  /** The items from before a `session/load` request, until the request succeeds. */
  readonly before: readonly Item[] | undefined;
  readonly turns: readonly Turn[];
  readonly modes: JsonObject | undefined;
  readonly configOptions: readonly JsonObject[];
  readonly commands: readonly JsonObject[];
  readonly usage: Usage | undefined;
  readonly isClosed: boolean;
}

/** An open agent request. */
export interface AgentRequest {
  /** The request's id as sent by the agent. It must be returned unchanged. */
  readonly id: unknown;
  readonly key: string;
  readonly event: number | undefined;
  readonly method: string;
  readonly params: JsonObject;
  readonly sessionId: string | undefined;
  readonly atMs: number | undefined;
}

/** A client request that awaits a response. */
export interface PendingRequest {
  readonly method: string;
  readonly params: JsonObject;
  readonly atMs: number | undefined;
}

/** A terminal that a client provides to the agent, or one of the agent's own. */
export interface TerminalState {
  readonly command: string;
  readonly output: string;
  readonly exit: string | undefined;
}

export type InstanceStatus = "starting" | "running" | "exited" | "closed";

/** The state of an instance. */
export interface InstanceState {
  readonly serverId: string;
  readonly agent: string;
  readonly status: InstanceStatus;
  readonly createdAtMs: number | undefined;
  readonly lastAtMs: number | undefined;
  readonly exit: AcpExit | undefined;
  /** Why the instance is closed, as a sentence. */
  readonly closedBecause: string | undefined;
  /** The response to `initialize`. */
  readonly initialized: JsonObject | undefined;
  readonly sessions: ReadonlyMap<string, SessionState>;
  /** The response to `session/list`. */
  readonly listed: readonly JsonObject[] | undefined;
  readonly agentRequests: readonly AgentRequest[];
  readonly pending: ReadonlyMap<string, PendingRequest>;
  /** Open agent requests that a client program answers by itself: for files and terminals. */
  readonly programRequests: ReadonlyMap<string, PendingRequest>;
  readonly terminals: ReadonlyMap<string, TerminalState>;
}
