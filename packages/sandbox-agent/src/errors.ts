/** The errors of this package. Each has a machine-readable `code` and a message that says what to do. */

import type { AcpHttpError, AcpProblem } from "acp-http-client";

/** Base class of all errors of this package. */
export class SandboxAgentError extends Error {
  /** The machine-readable kind of error. */
  readonly code: string;

  /** @internal */
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A call needs a connection, but the client has none. */
export class NotConnectedError extends SandboxAgentError {
  /** @internal */
  constructor(message = "not connected: call connect() first", options?: ErrorOptions) {
    super("not_connected", message, options);
  }
}

/** `connect()` was called while the client is connected or connecting. */
export class AlreadyConnectedError extends SandboxAgentError {
  /** @internal */
  constructor() {
    super("already_connected", "already connected: call disconnect() first, or create another client");
  }
}

/** How an agent's process exited. */
export interface AgentExit {
  /** The process's exit code. */
  readonly exitCode?: number;
  /** The signal that killed the process. */
  readonly signal?: string;
  /** Why there is no process, if it did not exit by itself: for example `closed` or `spawn_failed`. */
  readonly reason?: string;
  /** The end of what the process wrote to stderr. */
  readonly stderrTail?: string;
}

/** The agent's process has exited. `resumeSession()` restarts it. */
export class AgentExitedError extends SandboxAgentError {
  /** How the process exited. */
  readonly exit: AgentExit;

  /** @internal */
  constructor(exit: AgentExit, options?: ErrorOptions) {
    const how = exit.reason ?? exit.signal ?? (exit.exitCode === undefined ? "" : `code ${exit.exitCode}`);
    super("agent_exited", `the agent exited${how && ` (${how})`}; resumeSession() restarts it`, options);
    this.exit = exit;
  }
}

/** The connection is lost: the server was restarted or is unreachable. `resumeSession()` reconnects. */
export class ConnectionLostError extends SandboxAgentError {
  /** @internal */
  constructor(message: string, options?: ErrorOptions) {
    super("connection_lost", message, options);
  }
}

/** The client detached from the session during a call; the agent keeps running. */
export class DetachedError extends SandboxAgentError {
  /** @internal */
  constructor() {
    super("detached", "the client has detached; the agent keeps running");
  }
}

/** The agent answered with an error. */
export class AgentError extends SandboxAgentError {
  /** The agent's error code. */
  readonly number: number;
  /** The error's data. */
  readonly data: unknown;

  /** @internal */
  constructor(number: number, message: string, data: unknown, options?: ErrorOptions) {
    super("agent_error", message, options);
    this.number = number;
    this.data = data;
  }
}

/** The agent requires a login; see `authenticate()`. */
export class AuthenticationRequiredError extends AgentError {}

/** The agent does not support what was requested. */
export class UnsupportedError extends SandboxAgentError {
  /** @internal */
  constructor(what: string, options?: ErrorOptions) {
    super("unsupported", `the agent does not support ${what}`, options);
  }
}

/** There is no such session, permission request or question. */
export class NotFoundError extends SandboxAgentError {
  /** @internal */
  constructor(what: string, id: string) {
    super("not_found", `there is no ${what} "${id}"`);
  }
}

/** A problem document (RFC 9457): what the server sends with an error. */
export type Problem = AcpProblem;

/** The server answered with an error status. */
export class HttpError extends SandboxAgentError {
  /** The HTTP status. */
  readonly status: number;
  /** The problem document; `undefined` if the body was something else. */
  readonly problem: Problem | undefined;

  /** @internal */
  constructor(cause: AcpHttpError) {
    super(cause.code, cause.message, { cause });
    this.status = cause.status;
    this.problem = cause.problem;
  }
}
