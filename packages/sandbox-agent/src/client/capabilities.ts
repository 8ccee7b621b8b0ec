/** What an agent says about itself when it is connected to. */

import { type Extensions, readExtensions } from "../convert/meta.ts";
import { compact, listOf, objectOf, textOf } from "../json.ts";

/** What an agent can do. */
export interface Abilities {
  /** Open a stored session, telling its history. */
  readonly load: boolean;
  /** Open a stored session without telling its history. */
  readonly resume: boolean;
  /** List its sessions. */
  readonly list: boolean;
  /** Copy a session. */
  readonly fork: boolean;
  /** End a session. */
  readonly close: boolean;
  /** Take pictures. */
  readonly image: boolean;
  /** Take sound. */
  readonly audio: boolean;
  /** Take embedded files. */
  readonly embedded: boolean;
  /** Reach tool servers over HTTP. */
  readonly mcpHttp: boolean;
  /** Reach tool servers over server-sent events. */
  readonly mcpSse: boolean;
}

/** A way to sign in. */
export interface AuthMethod {
  /** Names it. */
  readonly id: string;
  /** What to show. */
  readonly name: string;
  /** What it means. */
  readonly description?: string;
}

/** An agent that is connected to. */
export interface ConnectionInfo {
  /** The agent. */
  readonly agent: string;
  /** Names the connection on the server. */
  readonly serverId: string;
  /** What the agent calls itself. */
  readonly agentName?: string;
  /** Its version. */
  readonly agentVersion?: string;
  /** What it can do. */
  readonly abilities: Abilities;
  /** The ways to sign in to it. */
  readonly authMethods: readonly AuthMethod[];
  /** Extensions of Sandbox Agent that it has. */
  readonly extensions: Extensions;
  /** Whether the agent was running before this client came. */
  readonly isAttached: boolean;
}

/** Reads the answer to `initialize`. */
export function readConnection(
  response: unknown,
  known: Pick<ConnectionInfo, "agent" | "serverId" | "isAttached">,
): ConnectionInfo {
  const { agentCapabilities, agentInfo, authMethods } = objectOf(response);
  const capabilities = objectOf(agentCapabilities);
  const session = objectOf(capabilities.sessionCapabilities);
  const prompt = objectOf(capabilities.promptCapabilities);
  const mcp = objectOf(capabilities.mcpCapabilities);
  // An ability is an object, empty or not; `null` and absence are a no.
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
