/** The options of a client and of its calls. */

import type { Attachment } from "../convert/content.ts";
import type { McpServers } from "../convert/mcp.ts";
import type { NewSessionOptions } from "../convert/session.ts";
import type { RetryOptions, ServerOptions } from "../http.ts";
import type { SessionStore } from "../store/types.ts";
import type { Terminals } from "./client-methods.ts";

/** Options for a client. */
export interface SandboxAgentClientOptions extends ServerOptions {
  /** The agent to connect to, such as `claude`, `codex` or `mock`. */
  readonly agent?: string;
  /**
   * The id of the instance on the server. A client with the id of a running instance attaches to it. Default: random.
   */
  readonly serverId?: string;
  /** Whether the constructor connects. If `false`, call `connect()`. Default: `true`. */
  readonly autoConnect?: boolean;
  /** Where sessions and their events are stored. Default: in memory. */
  readonly store?: SessionStore;
  /** Lets the agent read and write the sandbox's files through this client. Default: `false`. */
  readonly files?: boolean;
  /** Runs commands for the agent. Without it, the agent is offered no terminals. */
  readonly terminals?: Terminals;
  /** How to restore a session that the agent no longer has. */
  readonly replay?: ReplayOptions;
  /** When to retry if the server is unreachable. */
  readonly retry?: RetryOptions;
  /** Where the environment variables of MCP servers are looked up. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** How much of a stored conversation is sent to an agent that no longer has it. */
export interface ReplayOptions {
  /** How many of the newest turns to send at most. Default: 20. */
  readonly maxTurns?: number;
  /** How many characters to send at most. Default: 12,000. */
  readonly maxCharacters?: number;
}

/** Options that may differ between connections of one client. */
export interface ConnectOptions {
  /** The agent to connect to. */
  readonly agent?: string;
  /** The id of the instance on the server. */
  readonly serverId?: string;
}

/** Options for a new session. */
export interface NewSessionRequest extends NewSessionOptions {
  /**
   * Adds the MCP servers that the server stores for the directory. Those in `mcp` replace stored ones of the same name.
   */
  readonly useStoredMcp?: boolean;
}

/** Options for opening an existing session. */
export interface LoadSessionOptions {
  /** The agent's working directory. Default: the session's directory, as stored or as listed by the agent. */
  readonly directory?: string;
  /** MCP servers, keyed by name. Default: those that are stored with the session. */
  readonly mcp?: McpServers;
}

/** A prompt with attachments. */
export interface PromptMessage {
  /** The text. */
  readonly message: string;
  /** The attached files. */
  readonly attachments?: readonly Attachment[];
}

/** Options for one prompt. */
export interface PromptOptions {
  /** Cancels the turn; the session stays open. */
  readonly signal?: AbortSignal;
}
