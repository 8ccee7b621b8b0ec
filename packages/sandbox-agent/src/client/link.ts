/** Connects to an agent: looks up the instance, opens the connection, and initializes the agent. */

import type { AcpStreamEvent } from "acp-http-client";
import type { Schema } from "../api/document.ts";
import { META_NAMESPACE } from "../convert/meta.ts";
import type { SandboxAgentError } from "../errors.ts";
import type { Http, RetryOptions, ServerOptions } from "../http.ts";
import type { JsonObject } from "../json.ts";
import { VERSION } from "../version.ts";
import { type ConnectionInfo, readConnection } from "./capabilities.ts";
import { type Connection, openConnection } from "./connection.ts";
import type { OpenSessions } from "./open-sessions.ts";

/** An initialized connection with its sessions. */
export interface Link {
  readonly connection: Connection;
  readonly info: ConnectionInfo;
  readonly sessions: OpenSessions;
  /** Identifies the agent's process. After a restart it is another value. */
  readonly process: string | undefined;
}

/** How to connect. */
export interface LinkOptions extends ServerOptions {
  readonly agent: string;
  readonly serverId: string;
  readonly capabilities: JsonObject;
  readonly retry: RetryOptions | undefined;
  readonly http: Http;
  readonly sessions: OpenSessions;
  /** Aborted when the connection is no longer wanted. */
  readonly signal: AbortSignal;
  /** The cursor to resume from, if it was saved while the agent ran as this process. */
  cursorFor(process: string): Promise<string | undefined>;
  onRequest(method: string, params: unknown, context: { readonly id: unknown; readonly signal: AbortSignal }): unknown;
  onEvent(event: AcpStreamEvent): void;
  /** Called as soon as there is a connection to close. */
  onConnection(connection: Connection): void;
  onEnd(connection: Connection, reason: SandboxAgentError): void;
}

/** The protocol version that this client requests. */
const PROTOCOL_VERSION = 1;

/** Connects to an agent and initializes it. */
export async function openLink(options: LinkOptions): Promise<Link> {
  const { agent, serverId, http, sessions, signal } = options;
  const before = await instanceOf(http, serverId, signal);
  const running = before?.isRunning ? before.process : undefined;
  const cursor = running === undefined ? undefined : await options.cursorFor(running);
  // The last check before the connection is opened: from then on the caller has something to close.
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
    clientInfo: { name: "sandbox-agent", title: "Sandbox Agent SDK", version: VERSION },
    _meta: { [META_NAMESPACE]: { agent } },
  });
  const info = readConnection(answer, { agent, serverId, isAttached: running !== undefined });
  // A failure of this lookup is ignored: the connection works. But a later client will believe that the agent was
  // restarted.
  const lookUp = async () => (await instanceOf(http, serverId, signal).catch(() => undefined))?.process;
  return { connection, info, sessions, process: running ?? (await lookUp()) };
}

/** The state of an instance in the server's list. */
export interface Instance {
  readonly isRunning: boolean;
  readonly process: string;
  readonly pendingRequests: number;
  readonly lastEvent: number;
}

/** Looks up an instance. */
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
