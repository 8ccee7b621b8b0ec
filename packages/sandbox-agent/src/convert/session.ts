/** Converts the options of a new session to the parameters of `session/new`. */

import { compact, type JsonObject } from "../json.ts";
import { type ConvertedMcp, type McpOptions, type McpServers, mcpServersOf } from "./mcp.ts";
import { withMetadata } from "./meta.ts";

/** Options for a new session. */
export interface NewSessionOptions {
  /** The agent's working directory, absolute. Default: the server's workspace. */
  readonly directory?: string;
  /** Additional directories that the agent may use. */
  readonly additionalDirectories?: readonly string[];
  /** MCP servers, keyed by name. */
  readonly mcp?: McpServers;
  /** The initial mode. */
  readonly mode?: string;
  /** The model. */
  readonly model?: string;
  /** How permissions are handled. */
  readonly permissionMode?: string;
  /** Skills for the session. */
  readonly skills?: unknown;
  /** The session's title. */
  readonly title?: string;
  /** The requested version of the agent. */
  readonly agentVersion?: string;
  /** The id of the session in this client. Default: the agent's session id. */
  readonly sessionId?: string;
  /** Additional metadata. */
  readonly metadata?: JsonObject;
}

/** The metadata of a new session. */
export function sessionMetadata(agent: string, options: NewSessionOptions): JsonObject {
  return compact({
    ...options.metadata,
    agent,
    agentVersionRequested: options.agentVersion,
    title: options.title,
    model: options.model,
    mode: options.mode,
    permissionMode: options.permissionMode,
    skills: options.skills,
    requestedSessionId: options.sessionId,
  });
}

/** The parameters of `session/new`, and the MCP servers that are left out. */
export function newSessionParams(
  agent: string,
  directory: string,
  options: NewSessionOptions,
  mcpOptions: McpOptions = {},
): { readonly params: JsonObject; readonly skipped: ConvertedMcp["skipped"] } {
  const { servers, skipped } = mcpServersOf(options.mcp, mcpOptions);
  const params = compact({
    cwd: directory,
    mcpServers: servers,
    additionalDirectories: options.additionalDirectories,
  });
  return { params: withMetadata(params, sessionMetadata(agent, options)), skipped };
}
