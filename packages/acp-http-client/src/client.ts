/** Connects the official SDK's client over this transport. */

import { type ClientConnection, client, type Stream } from "@agentclientprotocol/sdk";
import type { AcpCloseOptions, AcpHttpOptions, AcpHttpStream } from "./options.ts";
import { acpHttpStream } from "./stream.ts";

/** Anything that connects to a `Stream`: the SDK's `client()`, stable or unstable. */
export interface Connectable<Connection> {
  /** Connects to the stream and returns the connection. */
  connect(stream: Stream): Connection;
}

/** A connected client. */
export interface AcpHttpClient<Connection = ClientConnection> {
  /** The SDK's connection. Requests to the agent are sent through its `agent`. */
  readonly connection: Connection;
  /** The transport of the connection. */
  readonly transport: AcpHttpStream;
  /** Shuts the agent down. Resolves when its process has exited. */
  close(options?: AcpCloseOptions): Promise<void>;
  /** Delivers what was written, then closes this connection. The agent keeps running. */
  detach(): Promise<void>;
}

/**
 * Connects the SDK's client to an endpoint.
 *
 * @param url - The endpoint; see {@link acpHttpStream}.
 * @param app - Your handlers, built with the SDK's `client()`. Default: an app that declines every agent request.
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
