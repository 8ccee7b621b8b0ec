/** The official SDK's client on this transport, in one call. */

import { type ClientConnection, client, type Stream } from "@agentclientprotocol/sdk";
import type { AcpCloseOptions, AcpHttpOptions, AcpHttpStream } from "./options.ts";
import { acpHttpStream } from "./stream.ts";

/** Whatever can be connected to a `Stream`: the SDK's `client()`, stable or unstable. */
export interface Connectable<Connection> {
  /** Connects to the stream and returns the connection. */
  connect(stream: Stream): Connection;
}

/** A connected client. */
export interface AcpHttpClient<Connection = ClientConnection> {
  /** The SDK's connection; its `agent` is what requests are sent to. */
  readonly connection: Connection;
  /** The transport below. */
  readonly transport: AcpHttpStream;
  /** Ends the agent: its process is gone when this resolves. */
  close(options?: AcpCloseOptions): Promise<void>;
  /** Ends this connection alone, once what was written is delivered. The agent works on. */
  detach(): Promise<void>;
}

/**
 * Connects the SDK's client to an endpoint.
 *
 * @param url - The endpoint; see {@link acpHttpStream}.
 * @param app - Your handlers: what `client()` of the SDK made. Without one, every request of the agent is declined.
 */
export function connectAcp(url: string | URL, options?: AcpHttpOptions): AcpHttpClient;
export function connectAcp<Connection>(
  url: string | URL,
  options: AcpHttpOptions | undefined,
  app: Connectable<Connection>,
): AcpHttpClient<Connection>;
export function connectAcp(
  url: string | URL,
  options: AcpHttpOptions = {},
  app: Connectable<unknown> = client(),
): AcpHttpClient<unknown> {
  const transport = acpHttpStream(url, options);
  return {
    connection: app.connect(transport),
    transport,
    close: transport.close,
    detach: transport.detach,
  };
}
