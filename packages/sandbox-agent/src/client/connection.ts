/**
 * The one place that speaks the protocol: the official SDK's client on `acp-http-client`. Everything above it deals in
 * method names and JSON, and in this package's own errors.
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

/** What is needed to open a connection. */
export interface ConnectionOptions extends ServerOptions {
  readonly serverId: string;
  readonly agent: string;
  /** Go on behind this event of an earlier connection. */
  readonly cursor?: string | undefined;
  readonly retry?: RetryOptions | undefined;
  /** The agent agentRequests. Resolves with the answer. */
  onRequest(method: string, params: unknown, context: { readonly id: unknown; readonly signal: AbortSignal }): unknown;
  /** The agent tells. Called in order, before any answer that came later is seen. */
  onNotification(method: string, params: unknown): void;
  /** What happened beside the messages. */
  onEvent(event: AcpStreamEvent): void;
}

/** A connection to one agent. */
export interface Connection {
  /** AgentRequests the agent. Fails with this package's errors. */
  request(method: string, params: object, signal?: AbortSignal): Promise<unknown>;
  /** Tells the agent. */
  notify(method: string, params: object): Promise<void>;
  /** Resolves with the reason when the connection has ended and everything that came was handed on. */
  readonly ended: Promise<SandboxAgentError>;
  /** The reason, once the connection has ended. */
  reason(): SandboxAgentError | undefined;
  /** Ends the connection because it is known to be of no use any more. */
  fail(reason: SandboxAgentError): void;
  /** The cursor of the newest event. */
  cursor(): string | undefined;
  /** Ends the agent. */
  close(): Promise<void>;
  /** Leaves the agent running. */
  detach(): Promise<void>;
}

/** Opens a connection. Nothing is sent before the first request. */
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
      // Whoever hears that the agent or the server is gone finds the connection ended, and can make a new one at once.
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
      const timeout = new ConnectionLostError("the server did not say that the agent has ended");
      let timer: ReturnType<typeof setTimeout> | undefined;
      const timedOut = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          limit.abort(timeout);
          // A token that never comes heeds no signal.
          reject(timeout);
        }, CLOSE_MS);
      });
      const closing = typed(() => transport.close({ giveUpMs: UNREACHABLE_MS, signal: limit.signal }));
      await Promise.race([closing, timedOut]).finally(() => clearTimeout(timer));
    },
    detach: () => typed(() => transport.detach()),
  };
}

/** The stream says that the agent has ended about when a call does. */
const STREAM_END_MS = 1_000;
/** What the agent is told when its request has failed. */
function errorResponseOf(error: unknown, method: string): RequestError {
  if (error instanceof RequestError) return error;
  if (error instanceof UnsupportedError) return RequestError.methodNotFound(method);
  const message = error instanceof Error ? error.message : String(error);
  // Before they make a file agents look for it, and only this answer tells them that there is none.
  const isMissing = error instanceof HttpError && error.status === 404;
  return isMissing
    ? new RequestError(RESOURCE_NOT_FOUND, `Resource not found: ${message}`)
    : new RequestError(INTERNAL_ERROR, message);
}

/** The server ends an agent within seconds; a server that does not answer must not keep its client from leaving. */
const CLOSE_MS = 15_000;
/** Nor does one that is not there, and its agents have ended with it. */
const UNREACHABLE_MS = 2_000;

/** Whether what one call failed with is the end of the connection, too. */
function endsConnection(failure: SandboxAgentError, error: unknown): boolean {
  if (failure instanceof AgentExitedError) return true;
  return failure instanceof ConnectionLostError && transportErrorOf(error)?.reason !== "lost";
}

/** Whether a promise is settled within a time. */
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
 * Hands notifications on as they are read. The SDK starts their handlers in order but does not wait for them, so an
 * answer could overtake the last words before it; and it drops what its schema does not know.
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
    // Nothing is taken ahead: an error would throw away what is queued here.
    { highWaterMark: 0 },
  );
  return { readable, writable: stream.writable };
}

const AUTHENTICATION_REQUIRED = -32000;
const RESOURCE_NOT_FOUND = -32002;
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** Whatever a call failed with, as an error of this package. */
export function errorOf(error: unknown): SandboxAgentError {
  if (error instanceof SandboxAgentError) return error;
  const transport = transportErrorOf(error);
  if (transport) return transportError(transport);
  if (error instanceof RequestError) {
    const { code, message, data } = error;
    if (code === METHOD_NOT_FOUND) return new UnsupportedError(message, { cause: error });
    const Type = code === AUTHENTICATION_REQUIRED ? AuthenticationRequiredError : AgentError;
    return new Type(code, message, data, { cause: error });
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
      return new ConnectionLostError(`${error.detail || code}; resumeSession() connects again`, { cause: error });
    }
    // Neither a request nor a reader without an agent's name finds an id that the server has forgotten.
    if (code === "agent_required" || (status === 404 && code !== "unknown_agent")) {
      const message = "the server no longer knows this connection; it was probably restarted";
      return new ConnectionLostError(`${message}. resumeSession() connects again`, { cause: error });
    }
    return new HttpError(error);
  }
  if (error.reason === "detached") return new DetachedError();
  if (error.reason === "closed") return new NotConnectedError("disconnected while the call was waiting");
  return new ConnectionLostError(error.message, { cause: error });
}

/** How a process ended, in this package's words. */
export function exitOf({ code, signal, error, stderrTail }: AcpExit): AgentExit {
  return compact({ exitCode: code, signal, reason: error, stderrTail });
}

function exitOfProblem(problem: { readonly [extra: string]: unknown }): AgentExit {
  const { exitCode, signal, stderrTail } = problem;
  return compact({
    exitCode: typeof exitCode === "number" ? exitCode : undefined,
    signal: typeof signal === "string" ? signal : undefined,
    stderrTail: typeof stderrTail === "string" ? stderrTail : undefined,
  });
}
