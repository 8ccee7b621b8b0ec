/** What a caller says when making and connecting a client. */

import type { Attachment } from "../convert/content.ts";
import type { McpServers } from "../convert/mcp.ts";
import type { NewSessionOptions } from "../convert/session.ts";
import type { RetryOptions, ServerOptions } from "../http.ts";
import type { SessionStore } from "../store/types.ts";
import type { Terminals } from "./client-methods.ts";

/** Settings of a client. */
export interface SandboxAgentClientOptions extends ServerOptions {
  /** The agent to talk to, such as `claude`, `codex` or `mock`. */
  readonly agent?: string;
  /**
   * Names the connection on the server. A client with the id of a running agent attaches to it. Random unless told.
   */
  readonly serverId?: string;
  /** `false` waits for `connect()`. Otherwise the client connects at once. */
  readonly autoConnect?: boolean;
  /** Where sessions and their events are kept. In memory unless told. */
  readonly store?: SessionStore;
  /** Lets the agent read and write files through this client, which agentRequests the server for them. Off unless told. */
  readonly files?: boolean;
  /** Runs commands for the agent. Without it the agent is told that there are no terminals. */
  readonly terminals?: Terminals;
  /** How a session is restored that the agent no longer has. */
  readonly replay?: ReplayOptions;
  /** How to try again when the server cannot be reached. */
  readonly retry?: RetryOptions;
  /** Where tool servers' secrets are looked up; the process' environment unless told. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** How much of a conversation is told to an agent that has forgotten it. */
export interface ReplayOptions {
  /** At most this many turns, the newest. 20 unless told. */
  readonly maxTurns?: number;
  /** At most this many characters. 12,000 unless told. */
  readonly maxCharacters?: number;
}

/** What may differ from one connection of a client to the next. */
export interface ConnectOptions {
  /** The agent to talk to. */
  readonly agent?: string;
  /** Names the connection on the server. */
  readonly serverId?: string;
}

/** What a new session is to be. */
export interface NewSessionRequest extends NewSessionOptions {
  /** Adds the tool servers that the server keeps for the directory; those in `mcp` win. */
  readonly useStoredMcp?: boolean;
}

/** What is needed to open a session that exists. */
export interface LoadSessionOptions {
  /** The directory the agent works in; the stored one unless told. */
  readonly directory?: string;
  /** Tool servers by name; the stored ones unless told. */
  readonly mcp?: McpServers;
}

/** A message with what goes with it. */
export interface PromptMessage {
  /** The text. */
  readonly message: string;
  /** Files. */
  readonly attachments?: readonly Attachment[];
}

/** Settings of one prompt. */
export interface PromptOptions {
  /** Cancels the turn; the session stays. */
  readonly signal?: AbortSignal;
}
