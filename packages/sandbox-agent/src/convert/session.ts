/** Opening a session: what the caller agentRequests for, as the parameters that the agent gets. */

import { compact, type JsonObject } from "../json.ts";
import { type ConvertedMcp, type McpOptions, type McpServers, mcpServersOf } from "./mcp.ts";
import { withMetadata } from "./meta.ts";

/** What a new session is to be. */
export interface NewSessionOptions {
  /** The directory the agent works in, absolute. The server's workspace unless told. */
  readonly directory?: string;
  /** More directories it may use. */
  readonly additionalDirectories?: readonly string[];
  /** Tool servers by name. */
  readonly mcp?: McpServers;
  /** The mode to begin in. */
  readonly mode?: string;
  /** The model to use. */
  readonly model?: string;
  /** How permissions are handled. */
  readonly permissionMode?: string;
  /** Skills for the session. */
  readonly skills?: unknown;
  /** A name for the session. */
  readonly title?: string;
  /** The version of the agent that is wanted. */
  readonly agentVersion?: string;
  /** The id by which the caller wants to know the session. The agent's own unless told. */
  readonly sessionId?: string;
  /** Anything else to keep with the session. */
  readonly metadata?: JsonObject;
}

/** What is added to the metadata of a new session. */
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

/** The parameters of `session/new`, and the tool servers that are not in them. */
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
