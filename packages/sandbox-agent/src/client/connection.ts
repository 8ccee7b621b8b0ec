/**
 * The only module that speaks the protocol: it runs the official SDK's client on the transport of `acp-http-client`.
 * The other modules see only method names, JSON and this package's own errors.
 */

import {
  type AcpExit,
  AcpExitError,
  AcpHttpError,
  type AcpStreamEvent,
  type AcpTransportError,
  connectAcp,
  transportErrorOf,
} from "acp-http-client";
import { type AnyMessage, type ClientConnection, client, RequestError, type Stream } from "acp-http-client/sdk";
import { agentErrorMessage } from "../convert/errors.ts";
import {
  AgentError,
  type AgentExit,
  AgentExitedError,
  AuthenticationRequiredError,
  ConnectionLostError,
  DetachedError,
  HttpError,
  NotConnectedError,
  SandboxAgentError,
  UnsupportedError,
} from "../errors.ts";
import type { RetryOptions, ServerOptions } from "../http.ts";
import { compact } from "../json.ts";

/** How to open a connection. */
export interface ConnectionOptions extends ServerOptions {
  readonly serverId: string;
  readonly agent: string;
  /** The event of an earlier connection after which to resume. */
  readonly cursor?: string | undefined;
  readonly retry?: RetryOptions | undefined;
  /** Handles an agent request. Resolves with the response. */
  onRequest(method: string, params: unknown, context: { readonly id: unknown; readonly signal: AbortSignal }): unknown;
  /** Receives a notification. Called in order, and before any later response is delivered. */
  onNotification(method: string, params: unknown): void;
  /** Called for everything that happens to the connection, other than messages. */
  onEvent(event: AcpStreamEvent): void;
}

/** A connection to one agent. */
export interface Connection {
  /** Sends a request. Rejects with this package's errors. */
  request(method: string, params: object, signal?: AbortSignal): Promise<unknown>;
  /** Sends a notification. */
  notify(method: string, params: object): Promise<void>;
  /** Resolves with the reason when the connection has ended and every received message was delivered. */
  readonly ended: Promise<SandboxAgentError>;
  /** The reason, once the connection has ended. */
  reason(): SandboxAgentError | undefined;
  /** Ends the connection with this reason. */
  fail(reason: SandboxAgentError): void;
  /** The cursor of the newest event. */
  cursor(): string | undefined;
  /** Shuts the agent down. */
  close(): Promise<void>;
  /** Closes the connection; the agent keeps running. */
  detach(): Promise<void>;
}

/** Opens a connection. Sends nothing before the first request. */
export function openConnection(options: ConnectionOptions): Connection {
  const root = options.baseUrl.replace(/\/+$/, "");
  const url = `${root}/v1/acp/${encodeURIComponent(options.serverId)}?agent=${encodeURIComponent(options.agent)}`;
  const app = client().onRequest("*", async ({ method, params, requestId, signal }) => {
    try {
      return await options.onRequest(method, params, { id: requestId, signal });
    } catch (error) {
      throw errorResponseOf(error, method);
    }
  });
  const stop = new AbortController();
  let forced: SandboxAgentError | undefined;
  let reason: SandboxAgentError | undefined;
  const { connection, transport } = connectAcp<ClientConnection>(
    url,
    {
      signal: stop.signal,
      token: options.token,
      headers: options.headers,
      fetch: options.fetch,
      lastEventId: options.cursor,
      retry: options.retry,
      onEvent: options.onEvent,
    },
    { connect: (stream) => app.connect(withNotificationTap(stream, options.onNotification)) },
  );
  const ended = Promise.all([transport.ended, connection.closed]).then(([error]) => {
    reason = forced ?? errorOf(error);
    return reason;
  });
  const fail = (why: SandboxAgentError): void => {
    forced ??= why;
    stop.abort();
  };
  const typed = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      throw errorOf(error);
    }
  };
  const call = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      const failure = forced ?? errorOf(error);
      // If the call has failed because the agent or the server has exited, the connection must have ended before the
      // caller receives the error: the caller may want to reconnect immediately.
      if (endsConnection(failure, error) && !(await within(STREAM_END_MS, ended))) {
        fail(failure);
        await ended;
      }
      throw failure;
    }
  };
  return {
    request: (method, params, signal) =>
      call(() => connection.agent.request(method, params, signal ? { cancellationSignal: signal } : {})),
    notify: (method, params) => call(() => connection.agent.notify(method, params)),
    ended,
    reason: () => reason,
    fail,
    cursor: () => transport.lastEventId,
    async close() {
      const limit = new AbortController();
      const timeout = new ConnectionLostError("the server did not confirm that the agent has exited");
      let timer: ReturnType<typeof setTimeout> | undefined;
      const timedOut = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          limit.abort(timeout);
          // A token function that never resolves ignores the signal.
          reject(timeout);
        }, CLOSE_MS);
      });
      const closing = typed(() => transport.close({ giveUpMs: UNREACHABLE_MS, signal: limit.signal }));
      await Promise.race([closing, timedOut]).finally(() => clearTimeout(timer));
    },
    detach: () => typed(() => transport.detach()),
  };
}

/**
 * How long to wait for the event stream to report an exit after a call has failed because of that exit. The report and
 * the failure arrive at about the same time.
 */
const STREAM_END_MS = 1_000;

/** The error response to an agent request that failed. */
function errorResponseOf(error: unknown, method: string): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof UnsupportedError) return RequestError.methodNotFound(method);
  const message = error instanceof Error ? error.message : String(error);
  // Agents look for a file before they create it, and only this error tells them that it does not exist.
  const isMissing = error instanceof HttpError && error.status === 404;
  return isMissing
    ? new RequestError(RESOURCE_NOT_FOUND, `Resource not found: ${message}`)
    : new RequestError(INTERNAL_ERROR, message);
}

/**
 * How long `close()` waits for the server, which shuts an agent down within seconds. A server that does not respond
 * must not block the client.
 */
const CLOSE_MS = 15_000;
/** How long `close()` tries to reach the server. If the server has exited, so have its agents. */
const UNREACHABLE_MS = 2_000;

/** True if the failure of a call means that the connection has ended. */
function endsConnection(failure: SandboxAgentError, error: unknown): boolean {
  if (failure instanceof AgentExitedError) return true;
  return failure instanceof ConnectionLostError && transportErrorOf(error)?.reason !== "lost";
}

/** True if the promise is settled within this time. */
function within(ms: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    promise.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

/**
 * Delivers notifications as soon as they are read, before the SDK receives them. The SDK starts the handlers of
 * notifications in order but does not wait for them, so a response could overtake the notifications before it. It also
 * drops notifications that its schema does not know.
 */
function withNotificationTap(stream: Stream, onNotification: ConnectionOptions["onNotification"]): Stream {
  const reader = stream.readable.getReader();
  const readable = new ReadableStream<AnyMessage>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          const isNotification = "method" in value && !("id" in value) && !value.method.startsWith("$/");
          if (!isNotification) return controller.enqueue(value);
          onNotification(value.method, value.params);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // A high-water mark of zero: an error would discard messages that the stream itself had buffered.
    { highWaterMark: 0 },
  );
  return { readable, writable: stream.writable };
}

const AUTHENTICATION_REQUIRED = -32000;
const RESOURCE_NOT_FOUND = -32002;
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** Converts any failure of a call to an error of this package. */
export function errorOf(error: unknown): SandboxAgentError {
  if (error instanceof SandboxAgentError) return error;
  const transport = transportErrorOf(error);
  if (transport) return transportError(transport);
  if (error instanceof RequestError) {
    const { code, message, data } = error;
    if (code === METHOD_NOT_FOUND) return new UnsupportedError(message, { cause: error });
    const Type = code === AUTHENTICATION_REQUIRED ? AuthenticationRequiredError : AgentError;
    return new Type(code, agentErrorMessage(message, data), data, { cause: error });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new ConnectionLostError(message, { cause: error });
}

function transportError(error: AcpTransportError): SandboxAgentError {
  if (error instanceof AcpExitError) return new AgentExitedError(exitOf(error.exit), { cause: error });
  if (error instanceof AcpHttpError) {
    const { status, code, problem } = error;
    if (code === "agent_exited") return new AgentExitedError(exitOfProblem(problem ?? {}), { cause: error });
    if (code === "instance_closed" || code === "instance_closing" || code === "server_stopping") {
      return new ConnectionLostError(`${error.detail || code}; resumeSession() reconnects`, { cause: error });
    }
    // The server's answer when it has no such instance and the request does not name an agent.
    if (code === "agent_required" || (status === 404 && code !== "unknown_agent")) {
      const message = "the server no longer has this instance; it was probably restarted";
      return new ConnectionLostError(`${message}. resumeSession() reconnects`, { cause: error });
    }
    return new HttpError(error);
  }
  if (error.reason === "detached") return new DetachedError();
  if (error.reason === "closed") return new NotConnectedError("disconnected while the call was waiting");
  return new ConnectionLostError(error.message, { cause: error });
}

/** Converts how a process exited. */
export function exitOf({ code, signal, error, stderrTail }: AcpExit): AgentExit {
  return compact({ exitCode: code, signal, reason: error, stderrTail });
}

function exitOfProblem(problem: { readonly [extra: string]: unknown }): AgentExit {
  const { exitCode, signal, reason, stderrTail } = problem;
  return compact({
    exitCode: typeof exitCode === "number" ? exitCode : undefined,
    signal: typeof signal === "string" ? signal : undefined,
    reason: typeof reason === "string" ? reason : undefined,
    stderrTail: typeof stderrTail === "string" ? stderrTail : undefined,
  });
}
