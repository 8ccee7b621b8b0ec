/** What happens in a session, as one typed stream. These are data: they survive JSON. */

import type { Content } from "./convert/content.ts";
import type { PermissionReply, PermissionRequest } from "./convert/permissions.ts";
import type { Answers, Question, QuestionStatus } from "./convert/questions.ts";
import type { Choice, ConfigOption } from "./convert/settings.ts";

/** A message, a thought or a tool call. */
export interface Item {
  /** Names the item within its session. */
  readonly id: string;
  /** The agent's own id for it, when it has one. */
  readonly nativeId?: string;
  /** The item it belongs to. */
  readonly parentId?: string;
  /** What it is. */
  readonly kind: "message" | "reasoning" | "tool_call";
  /** Whose it is. */
  readonly role: "assistant" | "user" | "tool";
  /** How far it is. */
  readonly status: "in_progress" | "completed" | "failed";
  /** What it says. For tools, what they showed. */
  readonly content: readonly Content[];
  /** The tool, for tool calls. */
  readonly tool?: ToolDetails;
}

/** What is known about a tool call. */
export interface ToolDetails {
  /** What it does, in a few words. */
  readonly title?: string;
  /** The tool's name. */
  readonly name?: string;
  /** What kind of thing it does, such as `read`, `edit` or `execute`. */
  readonly kind?: string;
  /** What it was given. */
  readonly input?: unknown;
  /** What it gave back. */
  readonly output?: unknown;
  /** The files it touches. */
  readonly locations?: readonly { readonly path: string; readonly line?: number }[];
  /** The changes it makes to files. */
  readonly diffs?: readonly FileDiff[];
  /** The terminals it uses. */
  readonly terminals?: readonly string[];
}

/** A change to a file. */
export interface FileDiff {
  /** The file. */
  readonly path: string;
  /** Its text before; absent for a new file. */
  readonly oldText?: string;
  /** Its text after. */
  readonly newText: string;
}

/** One step of a plan. */
export interface PlanEntry {
  /** What is to be done. */
  readonly content: string;
  /** How much it matters. */
  readonly priority?: string;
  /** How far it is. */
  readonly status?: string;
}

/** Who answered a request of the agent. */
export type ResolvedBy =
  /** This client. */
  | "client"
  /** Another client of the same agent; what it said is not known here. */
  | "elsewhere"
  /** Nobody: the agent took its request back, or is gone. */
  | "withdrawn";

/** Why a turn is over. `unknown` when this client was away at its end. */
export type StopReason =
  | "end_turn"
  | "max_tokens"
  | "max_turn_requests"
  | "refusal"
  | "cancelled"
  | "error"
  | "unknown"
  | (string & {});

/** What every event has. */
export interface EventBase {
  /** Names the event. */
  readonly id: string;
  /** The session. */
  readonly sessionId: string;
  /** When this client learned of it, RFC 3339. */
  readonly time: string;
  /** Who caused it. */
  readonly source: "agent" | "client" | "daemon";
  /** Whether it was derived and not sent as such. */
  readonly synthetic: boolean;
}

/** The part of an event that its type decides. */
export type EventBody =
  /** A session was opened, loaded or restored. */
  | {
      readonly type: "session.started";
      readonly agent: string;
      readonly how: "new" | "loaded" | "resumed" | "forked" | "replayed" | "attached";
    }
  /** A session is over. */
  | {
      readonly type: "session.ended";
      readonly reason: string;
      readonly terminatedBy: string;
      readonly message?: string;
      readonly exitCode?: number;
    }
  /** Something about the session has changed. */
  | {
      readonly type: "session.updated";
      readonly title?: string;
      readonly mode?: string;
      readonly options?: readonly ConfigOption[];
      readonly commands?: readonly Choice[];
      readonly usage?: { readonly used: number; readonly size: number; readonly cost?: unknown };
      readonly plan?: readonly PlanEntry[];
      /** An update of a kind that this version does not know, whole. */
      readonly unknown?: unknown;
    }
  /** The agent was given a prompt. */
  | { readonly type: "turn.started"; readonly turnId: string; readonly prompt: readonly Content[] }
  /** The agent is done with a prompt. */
  | { readonly type: "turn.ended"; readonly turnId: string; readonly stopReason: StopReason }
  /** A message, thought or tool call begins. */
  | { readonly type: "item.started"; readonly turnId?: string; readonly item: Item }
  /** It goes on: `content` is added, and for tools `item` is how it stands now. */
  | {
      readonly type: "item.delta";
      readonly turnId?: string;
      readonly itemId: string;
      readonly content: readonly Content[];
      readonly item?: Item;
    }
  /** It is finished. */
  | { readonly type: "item.completed"; readonly turnId?: string; readonly item: Item }
  /** Something failed. */
  | { readonly type: "error"; readonly message: string; readonly code?: string | number; readonly details?: unknown }
  /** The agent agentRequests for a permission. */
  | { readonly type: "permission.requested"; readonly permission: PermissionRequest }
  /** A permission request is settled. */
  | {
      readonly type: "permission.resolved";
      readonly permissionId: string;
      readonly by: ResolvedBy;
      readonly reply?: PermissionReply;
      readonly optionId?: string;
    }
  /** The agent agentRequests a question. */
  | { readonly type: "question.requested"; readonly question: Question; readonly status: QuestionStatus }
  /** A question is settled. `status` is absent when another client settled it. */
  | {
      readonly type: "question.resolved";
      readonly questionId: string;
      readonly by: ResolvedBy;
      readonly status?: QuestionStatus;
      readonly answers?: Answers;
      readonly response?: string;
    }
  /** The agent wrote something that nobody understands. */
  | {
      readonly type: "agent.unparsed";
      readonly error: string;
      readonly location?: string;
      readonly rawHash?: string;
      readonly line?: string;
    };

/** Something that happened. */
export type SandboxEvent = EventBase & EventBody;

/** The names of events. */
export type EventType = EventBody["type"];

/** An event of one type. */
export type EventOf<T extends EventType> = EventBase & Extract<EventBody, { readonly type: T }>;
