/**
 * What can go wrong between this client and the server. JSON-RPC errors of the agent are not in here: they reach the
 * caller as the SDK's own `RequestError`.
 */

/** Why a connection ended or a message was not delivered. */
export type AcpFailureReason =
  /** The server answered with an HTTP error; see {@link AcpHttpError}. */
  | "refused"
  /** The agent's process has ended; see {@link AcpExitError}. */
  | "exited"
  /** The server could not be reached for as long as the client was told to try. */
  | "unreachable"
  /** The answer may be among messages that the server no longer holds. */
  | "lost"
  /** `close()` was called. */
  | "closed"
  /** `detach()` was called, or the caller's signal was aborted. */
  | "detached";

/** Base of every error that this package makes. */
export class AcpTransportError extends Error {
  // Spelled out, since minifiers rename classes.
  override name = "AcpTransportError";
  /** Why, for programs. */
  declare readonly reason: AcpFailureReason;

  /** @param reason - Why, for programs; the message says it to people. */
  constructor(reason: AcpFailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** A problem document (RFC 9457) as the server sent it. */
export interface AcpProblem {
  /** Names the kind of problem. */
  readonly type?: string;
  /** The kind of problem in a few words. */
  readonly title?: string;
  /** The HTTP status. */
  readonly status?: number;
  /** What happened and what to do about it. */
  readonly detail?: string;
  /** Whatever else this kind of problem carries. */
  readonly [extra: string]: unknown;
}

/** The server refused a request, or says that an accepted one failed. */
export class AcpHttpError extends AcpTransportError {
  override name = "AcpHttpError";
  /** The HTTP status. */
  declare readonly status: number;
  /** The kind of problem: the last part of its `type`, or `http_<status>` where the answer was no problem document. */
  declare readonly code: string;
  /** What happened and what to do about it. */
  declare readonly detail: string;
  /** The whole problem document with its extras, when there was one. */
  declare readonly problem: AcpProblem | undefined;
  /** How long the server asks to wait before another try. */
  declare readonly retryAfterMs: number;

  /** @param text - What came instead of a problem document. */
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

/** How an agent's process ended. */
export interface AcpExit {
  /** Its exit code. */
  readonly code?: number;
  /** The signal that ended it. */
  readonly signal?: string;
  /** Why there is no process where none ended by itself, such as `closed` or `spawn_failed`. */
  readonly error?: string;
  /** The last of what it wrote to stderr. */
  readonly stderrTail?: string;
  /** The problem that kept it from starting. */
  readonly problem?: AcpProblem;
}

/** The agent's process has ended, and the connection with it. */
export class AcpExitError extends AcpTransportError {
  override name = "AcpExitError";
  /** How it ended; empty when the end was seen but not its story. */
  declare readonly exit: AcpExit;

  /** @param exit - How it ended, as far as that is known. */
  constructor(exit: AcpExit) {
    const how = exit.error ?? exit.signal ?? (exit.code === undefined ? "unknown" : `code ${exit.code}`);
    super("exited", exit.problem?.detail ?? `the agent exited (${how})`);
    this.exit = exit;
  }
}

/**
 * Finds this package's error in whatever a call of the SDK was rejected with: the error itself when the connection
 * ended, or the `data` of a `RequestError` when only that request failed.
 *
 * @returns The error, or `undefined` when the agent itself said no.
 */
export function transportErrorOf(error: unknown): AcpTransportError | undefined {
  if (error instanceof AcpTransportError) return error;
  const data = error instanceof Error && "data" in error ? error.data : undefined;
  return data instanceof AcpTransportError ? data : undefined;
}
