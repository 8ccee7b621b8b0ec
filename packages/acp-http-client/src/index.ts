/**
 * The Agent Client Protocol over HTTP. {@link connectAcp} connects a client of the official SDK, {@link acpHttpStream}
 * returns only the transport, and {@link watchAcp} reads events without sending anything.
 *
 * @packageDocumentation
 */

export { type AcpHttpClient, type Connectable, connectAcp } from "./client.ts";
export type { Replay } from "./endpoint.ts";
export {
  type AcpExit,
  AcpExitError,
  type AcpFailureReason,
  AcpHttpError,
  type AcpProblem,
  AcpTransportError,
  transportErrorOf,
} from "./errors.ts";
export type { HttpOptions, TokenSource } from "./http.ts";
export type { AcpCloseOptions, AcpHttpOptions, AcpHttpStream, AcpStreamEvent } from "./options.ts";
export type { RetryOptions } from "./retry.ts";
export { acpHttpStream } from "./stream.ts";
export {
  type WatchedBase,
  type WatchedEvent,
  type WatchedPayloads,
  type WatchOptions,
  type WatchServersOptions,
  watchAcp,
  watchAcpServers,
} from "./watch.ts";
