/** What an agent reports about itself in its response to `initialize`. */

import { type Extensions, readExtensions } from "../convert/meta.ts";
import { compact, listOf, objectOf, textOf } from "../json.ts";

/** The capabilities of an agent. */
export interface Abilities {
  /** True if the agent can load a stored session and replay its history. */
  readonly load: boolean;
  /** True if the agent can resume a stored session without replaying its history. */
  readonly resume: boolean;
  /** True if the agent can list its sessions. */
  readonly list: boolean;
  /** True if the agent can fork a session. */
  readonly fork: boolean;
  /** True if the agent can close a session. */
  readonly close: boolean;
  /** True if the agent accepts images. */
  readonly image: boolean;
  /** True if the agent accepts audio. */
  readonly audio: boolean;
  /** True if the agent accepts embedded files. */
  readonly embedded: boolean;
  /** True if the agent can use MCP servers over HTTP. */
  readonly mcpHttp: boolean;
  /** True if the agent can use MCP servers over server-sent events. */
  readonly mcpSse: boolean;
}

/** A way to sign in. */
export interface AuthMethod {
  /** Identifies the method. */
  readonly id: string;
  /** The label to show. */
  readonly name: string;
  /** The explanation to show. */
  readonly description?: string;
}

/** The connected agent. */
export interface ConnectionInfo {
  /** The agent's id. */
  readonly agent: string;
  /** The id of the instance on the server. */
  readonly serverId: string;
  /** The agent's own name. */
  readonly agentName?: string;
  /** The agent's version. */
  readonly agentVersion?: string;
  /** The agent's capabilities. */
  readonly abilities: Abilities;
  /** The ways to sign in. */
  readonly authMethods: readonly AuthMethod[];
  /** The Sandbox Agent extensions that the agent supports. */
  readonly extensions: Extensions;
  /** True if the agent was running before this client connected. */
  readonly isAttached: boolean;
}

/** Reads the response to `initialize`. */
export function readConnection(
  response: unknown,
  known: Pick<ConnectionInfo, "agent" | "serverId" | "isAttached">,
): ConnectionInfo {
  const { agentCapabilities, agentInfo, authMethods } = objectOf(response);
  const capabilities = objectOf(agentCapabilities);
  const session = objectOf(capabilities.sessionCapabilities);
  const prompt = objectOf(capabilities.promptCapabilities);
  const mcp = objectOf(capabilities.mcpCapabilities);
  // An agent that has a capability sends an object, possibly empty; `null` or a missing field means that it has not.
  const has = (value: unknown): boolean => value !== undefined && value !== null && value !== false;
  const { name, title, version } = objectOf(agentInfo);
  return compact({
    ...known,
    agentName: textOf(title) ?? textOf(name),
    agentVersion: textOf(version),
    abilities: {
      load: capabilities.loadSession === true,
      resume: has(session.resume),
      list: has(session.list),
      fork: has(session.fork),
      close: has(session.close),
      image: prompt.image === true,
      audio: prompt.audio === true,
      embedded: prompt.embeddedContext === true,
      mcpHttp: mcp.http === true,
      mcpSse: mcp.sse === true,
    },
    authMethods: listOf(authMethods).map(objectOf).map(readAuthMethod),
    extensions: readExtensions(capabilities),
  });
}

function readAuthMethod(method: Readonly<Record<string, unknown>>): AuthMethod {
  const id = textOf(method.id) ?? "";
  return compact({ id, name: textOf(method.name) ?? id, description: textOf(method.description) });
}
