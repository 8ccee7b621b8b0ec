/** One connection to one agent, from the first request to its end. Knows nothing of what calls do with it. */

import type { AcpStreamEvent } from "acp-http-client";
import type { Schema } from "../api/document.ts";
import { META_NAMESPACE } from "../convert/meta.ts";
import type { SandboxAgentError } from "../errors.ts";
import type { Http, RetryOptions, ServerOptions } from "../http.ts";
import type { JsonObject } from "../json.ts";
import { type ConnectionInfo, readConnection } from "./capabilities.ts";
import { type Connection, openConnection } from "./connection.ts";
import type { OpenSessions } from "./open-sessions.ts";

/** A connection. */
export interface Link {
  readonly connection: Connection;
  readonly info: ConnectionInfo;
  readonly sessions: OpenSessions;
  /** Which process it is connected to; tells a running agent from a restarted one. */
  readonly process: string | undefined;
}

/** What is needed to make a connection. */
export interface LinkOptions extends ServerOptions {
  readonly agent: string;
  readonly serverId: string;
  readonly capabilities: JsonObject;
  readonly retry: RetryOptions | undefined;
  readonly http: Http;
  readonly sessions: OpenSessions;
  /** Aborted when nobody wants the connection any more. */
  readonly signal: AbortSignal;
  /** Where to go on listening, if the agent is still this process. */
  cursorFor(process: string): Promise<string | undefined>;
  onRequest(method: string, params: unknown, context: { readonly id: unknown; readonly signal: AbortSignal }): unknown;
  onEvent(event: AcpStreamEvent): void;
  /** Told as soon as there is something to close. */
  onConnection(connection: Connection): void;
  onEnd(connection: Connection, reason: SandboxAgentError): void;
}

/** The version of the protocol that agents are context to speak. */
const PROTOCOL_VERSION = 1;
const CLIENT_VERSION = "0.1.0";

/** Connects. */
export async function openLink(options: LinkOptions): Promise<Link> {
  const { agent, serverId, http, sessions, signal } = options;
  const before = await instanceOf(http, serverId, signal);
  const running = before?.isRunning ? before.process : undefined;
  const cursor = running === undefined ? undefined : await options.cursorFor(running);
  // Behind this line there is something to close.
  signal.throwIfAborted();
  const connection = openConnection({
    ...options,
    cursor,
    onNotification: (method, params) => sessions.onNotification(method, params),
  });
  options.onConnection(connection);
  connection.ended.then((reason) => options.onEnd(connection, reason));
  const answer = await connection.request("initialize", {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: options.capabilities,
    clientInfo: { name: "sandbox-agent", title: "Sandbox Agent SDK", version: CLIENT_VERSION },
    _meta: { [META_NAMESPACE]: { agent } },
  });
  const info = readConnection(answer, { agent, serverId, isAttached: running !== undefined });
  // The connection is good without it; a later client then takes the agent for another one.
  const look = async () => (await instanceOf(http, serverId, signal).catch(() => undefined))?.process;
  return { connection, info, sessions, process: running ?? (await look()) };
}

/** What the server's list says about a connection. */
export interface Instance {
  readonly isRunning: boolean;
  readonly process: string;
  readonly pendingRequests: number;
  readonly lastEvent: number;
}

/** Looks a connection up. */
export async function instanceOf(http: Http, serverId: string, signal?: AbortSignal): Promise<Instance | undefined> {
  const { servers } = await http.json<Schema<"InstanceList">>("/v1/acp", { signal });
  const found = servers.find((server) => server.serverId === serverId);
  return (
    found && {
      isRunning: found.status === "running" || found.status === "starting",
      process: `${found.createdAtMs}:${found.pid ?? 0}`,
      pendingRequests: found.pendingRequests,
      lastEvent: found.lastEventId,
    }
  );
}
