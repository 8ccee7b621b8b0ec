/** The options and the events of the stream. */

import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import type { Replay } from "./endpoint.ts";
import type { AcpExit, AcpTransportError } from "./errors.ts";
import type { HttpOptions } from "./http.ts";
import type { RetryOptions } from "./retry.ts";

/** Something that happened to the connection or the agent, other than a message. */
export type AcpStreamEvent =
  /** The event stream is connected, for the first time or again. */
  | { readonly type: "open" }
  /** The event stream was cut. The client reconnects. */
  | { readonly type: "cut"; readonly error: unknown }
  /** The messages between these two events are lost. */
  | { readonly type: "gap"; readonly after: number; readonly next: number }
  /** A client answered the agent request that was delivered as this event. */
  | { readonly type: "answered"; readonly id: unknown; readonly event: number }
  /** A request from this client will not be answered. The SDK's call is rejected with the same error. */
  | { readonly type: "failed"; readonly id: unknown; readonly error: AcpTransportError }
  /** The agent printed a line that is not JSON-RPC. */
  | { readonly type: "unparsed"; readonly line: string; readonly error?: string; readonly bytes?: number }
  /** The agent's process has exited. The connection ends too, unless a new process has been started under the id. */
  | { readonly type: "exit"; readonly exit: AcpExit }
  /** A notification or a response from this client could not be delivered. */
  | { readonly type: "undelivered"; readonly message: AnyMessage; readonly error: AcpTransportError };

/** Options for {@link acpHttpStream}. */
export interface AcpHttpOptions extends HttpOptions {
  /**
   * What to receive from an instance that exists already. `open`: the unanswered agent requests, then everything new.
   * `all`: everything that the server still holds. `none`: only what is new. An instance that this client starts is
   * always read from its first message. Default: `open`.
   */
  readonly replay?: Replay | undefined;
  /**
   * The event after which to resume: the `lastEventId` of an earlier connection. Unanswered agent requests are delivered
   * again.
   */
  readonly lastEventId?: string | undefined;
  /** A function that is called for everything that happens, other than messages. */
  readonly onEvent?: ((event: AcpStreamEvent) => void) | undefined;
  /** When to retry. */
  readonly retry?: RetryOptions | undefined;
  /** How long the event stream may deliver no byte before it counts as cut. Default: 45 s. */
  readonly silenceMs?: number | undefined;
  /** A signal whose abort detaches the client immediately. */
  readonly signal?: AbortSignal | undefined;
}

/** How long `close()` keeps trying. */
export interface AcpCloseOptions {
  /** When to give up if the server is unreachable. Default: as in {@link RetryOptions}. */
  readonly giveUpMs?: number;
  /** Aborts the attempt; `close()` then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A `Stream` that can be closed or detached. */
export interface AcpHttpStream extends Stream {
  /** The cursor of the newest received event. To resume, pass it as the option of the same name. */
  readonly lastEventId: string | undefined;
  /** Resolves with the reason when the connection has ended. Never rejects. */
  readonly ended: Promise<AcpTransportError>;
  /** Shuts the agent down. Resolves when its process has exited. */
  close(options?: AcpCloseOptions): Promise<void>;
  /** Delivers what was written, then closes this connection. The agent keeps running. */
  detach(): Promise<void>;
}
