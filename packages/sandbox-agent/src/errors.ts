/** Everything that a call can fail with. Each has a `code` for programs and a message that says what to do. */

import type { AcpHttpError, AcpProblem } from "acp-http-client";

/** Base of every error of this package. */
export class SandboxAgentError extends Error {
  /** What kind of error it is, for programs. */
  readonly code: string;

  /** @internal */
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** A call that needs a connection was made without one. */
export class NotConnectedError extends SandboxAgentError {
  /** @internal */
  constructor(message = "not connected: call connect() first", options?: ErrorOptions) {
    super("not_connected", message, options);
  }
}

/** `connect()` was called while there is a connection, or one is being made. */
export class AlreadyConnectedError extends SandboxAgentError {
  /** @internal */
  constructor() {
    super("already_connected", "this client has a connection already: call disconnect() first, or make another client");
  }
}

/** How an agent's process ended. */
export interface AgentExit {
  /** Its exit code. */
  readonly exitCode?: number;
  /** The signal that ended it. */
  readonly signal?: string;
  /** Why there is no process where none ended by itself, such as `closed` or `spawn_failed`. */
  readonly reason?: string;
  /** The last of what it wrote to stderr. */
  readonly stderrTail?: string;
}

/** The agent's process has ended. `resumeSession()` starts it again. */
export class AgentExitedError extends SandboxAgentError {
  /** How it ended. */
  readonly exit: AgentExit;

  /** @internal */
  constructor(exit: AgentExit, options?: ErrorOptions) {
    const how = exit.reason ?? exit.signal ?? (exit.exitCode === undefined ? "" : `code ${exit.exitCode}`);
    super("agent_exited", `the agent has ended${how && ` (${how})`}; resumeSession() starts it again`, options);
    this.exit = exit;
  }
}

/** The connection is lost: the server was restarted, or cannot be reached. `resumeSession()` connects again. */
export class ConnectionLostError extends SandboxAgentError {
  /** @internal */
  constructor(message: string, options?: ErrorOptions) {
    super("connection_lost", message, options);
  }
}

/** The session was detached from while a call waited; the agent works on. */
export class DetachedError extends SandboxAgentError {
  /** @internal */
  constructor() {
    super("detached", "this client has detached; the agent works on");
  }
}

/** The agent said no. */
export class AgentError extends SandboxAgentError {
  /** The agent's own number for it. */
  readonly number: number;
  /** What the agent adds. */
  readonly data: unknown;

  /** @internal */
  constructor(number: number, message: string, data: unknown, options?: ErrorOptions) {
    super("agent_error", message, options);
    this.number = number;
    this.data = data;
  }
}

/** The agent wants the user to sign in first; see `authenticate()`. */
export class AuthenticationRequiredError extends AgentError {}

/** The agent cannot do this. */
export class UnsupportedError extends SandboxAgentError {
  /** @internal */
  constructor(what: string, options?: ErrorOptions) {
    super("unsupported", `the agent does not offer ${what}`, options);
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
  /** The problem document; `undefined` when the body was something else. */
  readonly problem: Problem | undefined;

  /** @internal */
  constructor(cause: AcpHttpError) {
    super(cause.code, cause.message, { cause });
    this.status = cause.status;
    this.problem = cause.problem;
  }
}
