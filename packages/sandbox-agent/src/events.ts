/** The typed events of a session. They are plain JSON. */

import type { Content } from "./convert/content.ts";
import type { PermissionGrant, PermissionReply, PermissionRequest } from "./convert/permissions.ts";
import type { Answers, Question, QuestionStatus } from "./convert/questions.ts";
import type { Choice, ConfigOption } from "./convert/settings.ts";

/** A message, a thought or a tool call. */
export interface Item {
  /** Identifies the item within its session. */
  readonly id: string;
  /** The agent's own id of the item, if the agent uses one. */
  readonly nativeId?: string;
  /** The id of the item that this item belongs to. */
  readonly parentId?: string;
  /** The kind of item. */
  readonly kind: "message" | "reasoning" | "tool_call";
  /** The author. */
  readonly role: "assistant" | "user" | "tool";
  /** The progress of the item. */
  readonly status: "in_progress" | "completed" | "failed";
  /** The content; for a tool call, its output. */
  readonly content: readonly Content[];
  /** The details of a tool call. */
  readonly tool?: ToolDetails;
}

/** The details of a tool call. */
export interface ToolDetails {
  /** A short description. */
  readonly title?: string;
  /** The tool's name. */
  readonly name?: string;
  /** The kind of tool, such as `read`, `edit` or `execute`. */
  readonly kind?: string;
  /** The tool's input. */
  readonly input?: unknown;
  /** The tool's output. */
  readonly output?: unknown;
  /** The files that the tool uses. */
  readonly locations?: readonly { readonly path: string; readonly line?: number }[];
  /** The changes that the tool makes to files. */
  readonly diffs?: readonly FileDiff[];
  /** The ids of the terminals that the tool uses. */
  readonly terminals?: readonly string[];
}

/** A change to a file. */
export interface FileDiff {
  /** The file's path. */
  readonly path: string;
  /** The text before; absent for a new file. */
  readonly oldText?: string;
  /** The text after. */
  readonly newText: string;
}

/** An entry of a plan. */
export interface PlanEntry {
  /** The task. */
  readonly content: string;
  /** The task's priority. */
  readonly priority?: string;
  /** The task's progress. */
  readonly status?: string;
}

/** How an agent request was resolved. */
export type ResolvedBy =
  /** This client answered the request. */
  | "client"
  /** Another client of the same agent answered the request; this client does not learn the answer. */
  | "elsewhere"
  /** The agent withdrew the request, or has exited. */
  | "withdrawn";

/**
 * Why a turn ended. `error`: the turn failed. `unknown`: this client was not connected when the turn ended, or the
 * agent gave a reason that is not in this list.
 */
export type StopReason =
  | "end_turn"
  | "max_tokens"
  | "max_turn_requests"
  | "refusal"
  | "cancelled"
  | "error"
  | "unknown";

/** A cost. */
export interface Cost {
  /** The amount. */
  readonly amount: number;
  /** The unit of the amount: a currency code such as `USD`, or something like `credits`. */
  readonly currency: string;
}

/** How much of its context a session uses, and what it has cost so far. */
export interface ContextUsage {
  /** The tokens in the context. */
  readonly used: number;
  /** The size of the context in tokens. */
  readonly size: number;
  /** The cost of the session so far. */
  readonly cost?: Cost;
}

/**
 * The usage that an agent reported for a turn. Which of the fields are present depends on the agent. Some agents report
 * the sum over the whole session.
 */
export interface TurnUsage {
  /** The sum of all tokens. */
  readonly totalTokens?: number;
  /** The tokens of the input. */
  readonly inputTokens?: number;
  /** The tokens of the output. */
  readonly outputTokens?: number;
  /** The tokens of thoughts. */
  readonly thoughtTokens?: number;
  /** The tokens that were read from a cache. */
  readonly cachedReadTokens?: number;
  /** The tokens that were written to a cache. */
  readonly cachedWriteTokens?: number;
  /** The tokens in the context at the end of the turn. */
  readonly used?: number;
  /** The size of the context in tokens. */
  readonly size?: number;
}

/** The fields that every event has. */
export interface EventBase {
  /** Identifies the event. */
  readonly id: string;
  /** The session's id. */
  readonly sessionId: string;
  /** When this client received the event, in the format of RFC 3339. */
  readonly time: string;
  /** The source of the event. */
  readonly source: "agent" | "client" | "daemon";
  /** True if no message says what the event reports: the client concluded it, for example from the agent's exit. */
  readonly synthetic: boolean;
  /** The number that the agent has given to the event, if it numbers its events. */
  readonly sequence?: number;
  /** The agent's own id of the session, if the agent sent it with the event. */
  readonly agentSessionId?: string;
}

/** The fields that depend on the event's type. */
export type EventBody =
  /** A session was opened, loaded or restored. */
  | {
      readonly type: "session.started";
      readonly agent: string;
      readonly how: "new" | "loaded" | "resumed" | "forked" | "replayed" | "attached";
    }
  /** A session has ended. */
  | {
      readonly type: "session.ended";
      readonly reason: string;
      readonly terminatedBy: string;
      readonly message?: string;
      readonly exitCode?: number;
    }
  /** A property of the session has changed. */
  | {
      readonly type: "session.updated";
      readonly title?: string;
      readonly mode?: string;
      readonly options?: readonly ConfigOption[];
      readonly commands?: readonly Choice[];
      readonly usage?: ContextUsage;
      readonly plan?: readonly PlanEntry[];
      /** An update of an unknown kind, as sent by the agent. */
      readonly unknown?: unknown;
    }
  /** A prompt was sent. */
  | { readonly type: "turn.started"; readonly turnId: string; readonly prompt: readonly Content[] }
  /** A turn has ended. `usage` and `cost` are present if the agent reported them; `cost` is the whole session's. */
  | {
      readonly type: "turn.ended";
      readonly turnId: string;
      readonly stopReason: StopReason;
      readonly usage?: TurnUsage;
      readonly cost?: Cost;
    }
  /** A message, thought or tool call has started. */
  | { readonly type: "item.started"; readonly turnId?: string; readonly item: Item }
  /** `content` was added to an item. For a tool call, `item` is the item's new state. */
  | {
      readonly type: "item.delta";
      readonly turnId?: string;
      readonly itemId: string;
      readonly content: readonly Content[];
      readonly item?: Item;
    }
  /** An item is completed. */
  | { readonly type: "item.completed"; readonly turnId?: string; readonly item: Item }
  /** An error occurred. */
  | { readonly type: "error"; readonly message: string; readonly code?: string | number; readonly details?: unknown }
  /** The agent requests a permission. */
  | { readonly type: "permission.requested"; readonly permission: PermissionRequest }
  /**
   * A permission request was resolved. `reply` is what this client replied; `granted` is what the selected option
   * grants, if that is known. Without an `optionId`, nothing was selected.
   */
  | {
      readonly type: "permission.resolved";
      readonly permissionId: string;
      readonly by: ResolvedBy;
      readonly reply?: PermissionReply;
      readonly granted?: PermissionGrant;
      readonly optionId?: string;
    }
  /** The agent asks a question. */
  | { readonly type: "question.requested"; readonly question: Question; readonly status: QuestionStatus }
  /** A question was resolved. `status` is absent if another client answered it. */
  | {
      readonly type: "question.resolved";
      readonly questionId: string;
      readonly by: ResolvedBy;
      readonly status?: QuestionStatus;
      readonly answers?: Answers;
      readonly response?: string;
    }
  /** The connection to the server is lost. The client tries to reconnect until `retry.giveUpMs` has passed. */
  | { readonly type: "connection.lost"; readonly attempts: number; readonly message: string }
  /** The connection was restored after this number of attempts. No event was missed unless an `error` says so. */
  | { readonly type: "connection.restored"; readonly attempts: number }
  /** The agent printed a line that is not a message. */
  | {
      readonly type: "agent.unparsed";
      readonly error: string;
      readonly location?: string;
      readonly rawHash?: string;
      readonly line?: string;
    };

/** An event of a session. */
export type SandboxEvent = EventBase & EventBody;

/** The event types. */
export type EventType = EventBody["type"];

/** An event of one type. */
export type EventOf<T extends EventType> = EventBase & Extract<EventBody, { readonly type: T }>;
