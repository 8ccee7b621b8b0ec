/** What a user of the stream says and is told. */

import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import type { Replay } from "./endpoint.ts";
import type { AcpExit, AcpTransportError } from "./errors.ts";
import type { HttpOptions } from "./http.ts";
import type { RetryOptions } from "./retry.ts";

/** Something that happened beside the messages. */
export type AcpStreamEvent =
  /** The event stream is open, for the first time or again. */
  | { readonly type: "open" }
  /** The event stream was cut and is being opened again. */
  | { readonly type: "cut"; readonly error: unknown }
  /** Messages between these two events are gone for good. */
  | { readonly type: "gap"; readonly after: number; readonly next: number }
  /** Somebody answered the agent's request that was this event. */
  | { readonly type: "answered"; readonly id: unknown; readonly event: number }
  /** A request of this client will get no answer; the SDK's call is rejected with the same error. */
  | { readonly type: "failed"; readonly id: unknown; readonly error: AcpTransportError }
  /** The agent printed something that is not JSON-RPC. */
  | { readonly type: "unparsed"; readonly line: string; readonly error?: string; readonly bytes?: number }
  /** The agent's process has ended. Unless a new one follows, the connection ends too. */
  | { readonly type: "exit"; readonly exit: AcpExit }
  /** A notification or an answer of this client could not be delivered. */
  | { readonly type: "undelivered"; readonly message: AnyMessage; readonly error: AcpTransportError };

/** Options of {@link acpHttpStream}. */
export interface AcpHttpOptions extends HttpOptions {
  /**
   * What to get of an instance that exists already: `open`, the agent's unanswered requests and everything new;
   * `all`, everything still held; `none`, only what is new. An instance that this client starts is heard from its
   * first message on in any case. `open` unless told.
   */
  readonly replay?: Replay | undefined;
  /** Go on behind this event: the `lastEventId` of an earlier connection. Unanswered requests come again. */
  readonly lastEventId?: string | undefined;
  /** Told what happens beside the messages. */
  readonly onEvent?: ((event: AcpStreamEvent) => void) | undefined;
  /** How to try again. */
  readonly retry?: RetryOptions | undefined;
  /** Without a byte for this long the event stream counts as cut. 45 s unless told. */
  readonly silenceMs?: number | undefined;
  /** Aborting it detaches at once. */
  readonly signal?: AbortSignal | undefined;
}

/** How long `close()` tries. */
export interface AcpCloseOptions {
  /** After this long without reaching the server it gives up. As in {@link RetryOptions} unless told. */
  readonly giveUpMs?: number;
  /** Ends the attempt; `close()` is then rejected with its reason. */
  readonly signal?: AbortSignal;
}

/** A `Stream` with two ways to end it. */
export interface AcpHttpStream extends Stream {
  /** The cursor of the newest event heard; an option of the same name goes on from there. */
  readonly lastEventId: string | undefined;
  /** Resolves with the reason when the connection has ended. Never rejects. */
  readonly ended: Promise<AcpTransportError>;
  /** Ends the agent: its process is gone when this resolves. */
  close(options?: AcpCloseOptions): Promise<void>;
  /** Ends this connection alone, once what was written is delivered. The agent works on. */
  detach(): Promise<void>;
}
