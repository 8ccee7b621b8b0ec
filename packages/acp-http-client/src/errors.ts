/**
 * Failures between this client and the server. The agent's JSON-RPC errors are not among them: they reach the caller as
 * the SDK's `RequestError`.
 */

/** Why a connection ended, or why a message was not delivered. */
export type AcpFailureReason =
  /** The server answered with an HTTP error; see {@link AcpHttpError}. */
  | "refused"
  /** The agent's process has exited; see {@link AcpExitError}. */
  | "exited"
  /** The server was unreachable until the client gave up; see `RetryOptions`. */
  | "unreachable"
  /** The response may be among events that the server no longer holds. */
  | "lost"
  /** `close()` was called. */
  | "closed"
  /** `detach()` was called, or the caller's signal was aborted. */
  | "detached";

/** Base class of all errors of this package. */
export class AcpTransportError extends Error {
  // A literal and not the name of the class, because minifiers rename classes.
  override name = "AcpTransportError";
  /** The machine-readable reason. */
  declare readonly reason: AcpFailureReason;

  /** @param reason - The machine-readable reason; `message` is for people. */
  constructor(reason: AcpFailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** A problem document (RFC 9457). */
export interface AcpProblem {
  /** Identifies the kind of problem. */
  readonly type?: string;
  /** A short summary of the kind of problem. */
  readonly title?: string;
  /** The HTTP status. */
  readonly status?: number;
  /** What happened, and what to do about it. */
  readonly detail?: string;
  /** Extension members. */
  readonly [extra: string]: unknown;
}

/** The server refused a request, or reported that an accepted request failed. */
export class AcpHttpError extends AcpTransportError {
  override name = "AcpHttpError";
  /** The HTTP status. */
  declare readonly status: number;
  /**
   * The kind of problem: the last part of its `type`, or `http_<status>` if the response was not a problem document.
   */
  declare readonly code: string;
  /** What happened, and what to do about it. */
  declare readonly detail: string;
  /** The problem document, if the response was one. */
  declare readonly problem: AcpProblem | undefined;
  /** How long the server asked the client to wait before the next attempt; 0 if it did not say. */
  declare readonly retryAfterMs: number;

  /** @param text - The body of a response that is not a problem document. */
  constructor(status: number, problem: AcpProblem | undefined, text = "", retryAfterMs = 0) {
    const code = /[^:/#]+$/.exec(problem?.type ?? "")?.[0] ?? `http_${status}`;
    const detail = problem?.detail ?? problem?.title ?? text.slice(0, 200);
    super("refused", `${status} ${code}${detail && `: ${detail}`}`);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
  }
}

/** How an agent's process exited. */
export interface AcpExit {
  /** The process's exit code. */
  readonly code?: number;
  /** The signal that killed the process. */
  readonly signal?: string;
  /** Why there is no process, if it did not exit by itself: for example `closed` or `spawn_failed`. */
  readonly error?: string;
  /** The end of what the process wrote to stderr. */
  readonly stderrTail?: string;
  /** The problem that kept the process from starting. */
  readonly problem?: AcpProblem;
}

/** The agent's process has exited, which ends the connection. */
export class AcpExitError extends AcpTransportError {
  override name = "AcpExitError";
  /** How the process exited; empty if the exit event was not received. */
  declare readonly exit: AcpExit;

  /** @param exit - How the process exited, as far as known. */
  constructor(exit: AcpExit) {
    const how = exit.error ?? exit.signal ?? (exit.code === undefined ? "unknown" : `code ${exit.code}`);
    super("exited", exit.problem?.detail ?? `the agent exited (${how})`);
    this.exit = exit;
  }
}

/**
 * Finds this package's error in what an SDK call was rejected with: the error itself if the connection ended, or the
 * `data` of a `RequestError` if only that request failed.
 *
 * @returns The error; `undefined` if the agent itself answered with an error.
 */
export function transportErrorOf(error: unknown): AcpTransportError | undefined {
  if (error instanceof AcpTransportError) return error;
  const data = error instanceof Error && "data" in error ? error.data : undefined;
  return data instanceof AcpTransportError ? data : undefined;
}
