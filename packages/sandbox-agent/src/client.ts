/** The client: connects to one agent, and gives access to its sessions and to the server's files and settings. */

import { type Agents, createAgents } from "./api/agents.ts";
import {
  type ConfigEntries,
  createMcpConfig,
  createSkillsConfig,
  type SkillsConfig,
  type StoredMcpServer,
} from "./api/config.ts";
import type { Files } from "./api/files.ts";
import { type Health, readHealth } from "./api/health.ts";
import type { PermissionDecision, PermissionHandler, QuestionHandler } from "./client/agent-requests.ts";
import type { ConnectionInfo } from "./client/capabilities.ts";
import { type ConnectionStatus, type Core, createCore } from "./client/core.ts";
import type { EmbeddedOptions, EmbeddedServer } from "./client/embedded.ts";
import { now } from "./client/ids.ts";
import type { Link } from "./client/link.ts";
import { type History, type HistoryRange, history, listSessions, setMetadata } from "./client/listing.ts";
import { forkSession, loadSession, newSession, resumeSession } from "./client/open-session.ts";
import type { OpenSession } from "./client/open-sessions.ts";
import type {
  ConnectOptions,
  LoadSessionOptions,
  NewSessionRequest,
  PromptMessage,
  PromptOptions,
  SandboxAgentClientOptions,
} from "./client/options.ts";
import type { EventFilter } from "./client/recorder.ts";
import { startOwnServer } from "./client/server-starter.ts";
import { type ModelList, setMode, setModel, setOption } from "./client/settings.ts";
import { cancel, prompt, runningTurn } from "./client/turns.ts";
import type { PermissionRequest } from "./convert/permissions.ts";
import type { Answers, Question } from "./convert/questions.ts";
import { ConnectionLostError, HttpError, NotConnectedError, NotFoundError } from "./errors.ts";
import type { SandboxEvent } from "./events.ts";
import type { JsonObject } from "./json.ts";
import type { RunningTurn, Session, SessionInfo, SessionProperties, TurnResult } from "./session.ts";

/**
 * Ignores a failure to connect: the client can still list the stored sessions. Throws it again if the server has
 * refused the client's token, because the caller must learn that.
 */
function ignoreUnlessUnauthorized(error: unknown): undefined {
  const reason = error instanceof NotConnectedError ? error.cause : error;
  if (reason instanceof HttpError && [401, 403].includes(reason.status)) throw reason;
}

/**
 * A client of one agent.
 *
 * The client connects when it is constructed, unless `autoConnect` is `false`, and has at most one connection at a
 * time. Calls that need a connection wait while one is being made, and fail with {@link NotConnectedError} if there is
 * none.
 */
export class SandboxAgentClient implements AsyncDisposable {
  readonly #core: Core;
  /** Sessions that are being reopened, by id. A second call for a session waits for the first. */
  readonly #reopening = new Map<string, Promise<Session>>();
  #server: EmbeddedServer | undefined;
  #disposing: Promise<void> | undefined;

  /** The server's agents: list, look up, install. */
  readonly agents: Agents;
  /** The sandbox's files. */
  readonly files: Files;
  /** The MCP servers that the server stores for directories. */
  readonly mcpConfig: ConfigEntries<StoredMcpServer>;
  /** The skills that the server stores for directories. */
  readonly skillsConfig: ConfigEntries<SkillsConfig>;

  /**
   * Makes a client and connects it, unless `autoConnect` is `false`. If connecting fails, the next call rejects with
   * the reason.
   */
  constructor(options: SandboxAgentClientOptions) {
    this.#core = createCore(options);
    this.agents = createAgents(this.#core.http);
    this.files = this.#core.files;
    this.mcpConfig = createMcpConfig(this.#core.http);
    this.skillsConfig = createSkillsConfig(this.#core.http);
    if (options.autoConnect !== false) this.#core.connect().catch(() => {});
  }

  /**
   * Starts a server on a free port with a random token, and returns a client that is connected to it. The server is
   * shut down with the client: by {@link SandboxAgentClient.dispose}, at the end of an `await using` block, and when
   * this process exits for any reason. Not available in browsers.
   */
  static async start(options: EmbeddedOptions): Promise<SandboxAgentClient> {
    const server = await startOwnServer(options);
    const client = new SandboxAgentClient({ ...options, baseUrl: server.baseUrl, token: server.token });
    client.#server = server;
    server.ended.then((how) => {
      client.#core.serverGone(new ConnectionLostError(`this client's own server exited (${how})`));
    });
    if (options.autoConnect === false) return client;
    try {
      await client.#core.ready();
      return client;
    } catch (error) {
      await client.dispose();
      throw error;
    }
  }

  // ---- connection

  /** The state of the connection. */
  get status(): ConnectionStatus {
    return this.#core.status();
  }

  /** The agent that this client is connected to; `undefined` if it is not connected. */
  get connection(): ConnectionInfo | undefined {
    return this.#core.link()?.info;
  }

  /** The server that {@link SandboxAgentClient.start} has started; otherwise `undefined`. */
  get server(): { readonly baseUrl: string; readonly token: string } | undefined {
    return this.#server && { baseUrl: this.#server.baseUrl, token: this.#server.token };
  }

  /**
   * Connects to the agent, and starts the agent if it is not running.
   *
   * @throws AlreadyConnectedError when the client is connected or connecting.
   */
  async connect(options?: ConnectOptions): Promise<ConnectionInfo> {
    return this.#core.connect(options);
  }

  /** Closes the connection and shuts the agent down. If a session was detached, the agent keeps running. */
  async disconnect(): Promise<void> {
    await this.#core.disconnect();
  }

  /** Signs in to the agent with one of `connection.authMethods`. */
  async authenticate(methodId: string): Promise<void> {
    const { connection } = await this.#core.ready();
    await connection.request("authenticate", { methodId });
  }

  // ---- sessions

  /** Opens a new session. */
  async newSession(options: NewSessionRequest = {}): Promise<Session> {
    return this.#withMethods(await newSession(this.#core, await this.#core.ready(), options));
  }

  /** Opens a session that the agent has stored. Its history becomes events, unless the client has stored it already. */
  async loadSession(sessionId: string, options: LoadSessionOptions = {}): Promise<Session> {
    return this.#reopen(sessionId, async () => loadSession(this.#core, await this.#core.ready(), sessionId, options));
  }

  /**
   * Continues a session. If the agent has exited or the server was restarted, this reconnects and restarts the agent.
   * The agent then restores the session if it can. If not, it receives the newest stored turns as text.
   */
  async resumeSession(sessionId: string, options: LoadSessionOptions = {}): Promise<Session> {
    return this.#reopen(sessionId, async () =>
      resumeSession(this.#core, await this.#core.recover(), sessionId, options),
    );
  }

  /** Forks a session. */
  async forkSession(sessionId: string, options: { readonly title?: string } = {}): Promise<Session> {
    const { link, session } = await this.#session(sessionId);
    return this.#withMethods(await forkSession(this.#core, link, session, options.title));
  }

  /**
   * Lists all sessions: those in the store and, if the client is connected, those that only the agent knows.
   *
   * @throws HttpError when the server has refused the client's token.
   */
  async listSessions(): Promise<readonly SessionInfo[]> {
    const link = await this.#core.ready().catch(ignoreUnlessUnauthorized);
    return listSessions(this.#core, link);
  }

  /**
   * Detaches from a session while the agent keeps working. A client with the same `serverId` and store can continue the
   * session later.
   */
  async detachSession(sessionId: string): Promise<void> {
    const { link, session } = await this.#session(sessionId);
    session.isDetached = true;
    for (const leave of [...session.onDetach]) leave();
    if (link.sessions.all().every(({ isDetached }) => isDetached)) await this.#core.detach();
  }

  /** Ends a session. Succeeds if it has already ended. */
  async terminateSession(sessionId: string): Promise<void> {
    const link = await this.#core.ready();
    const session = link.sessions.find(sessionId);
    if (!session) {
      await this.#core.recorder.flush();
      if (await this.#core.store.getSession(sessionId)) return;
      throw new NotFoundError("session", sessionId);
    }
    await cancel(link, this.#core.agentRequests, session);
    if (link.info.abilities.close) {
      await link.connection.request("session/close", { sessionId: session.record.agentSessionId });
    }
    const body = { type: "session.ended" as const, reason: "terminated", terminatedBy: "client" };
    link.sessions.emit(session, body, { source: "client", synthetic: true });
    link.sessions.update(session, { endedAt: now() });
    link.sessions.remove(session);
  }

  /** Changes the metadata of a session. `null` deletes a key. */
  async setMetadata(sessionId: string, metadata: JsonObject): Promise<SessionInfo> {
    return setMetadata(this.#core, await this.#linkIfAny(), sessionId, metadata);
  }

  // ---- turns

  /**
   * Sends a prompt. Await the returned value for the result of the turn, or iterate over it for the events of the
   * session until the turn ends.
   */
  prompt(sessionId: string, message: string | PromptMessage, options?: PromptOptions): RunningTurn {
    const run = async (): Promise<TurnResult> => {
      const { link, session } = await this.#session(sessionId);
      return prompt(link, this.#core.agentRequests, session, message, options);
    };
    return runningTurn(run(), (signal) => {
      const { id = sessionId } = this.#core.link()?.sessions.find(sessionId)?.record ?? {};
      return this.#core.recorder.stream({ sessionId: id, signal });
    });
  }

  /** Cancels the running turn. The session stays open. */
  async cancel(sessionId: string): Promise<void> {
    const { link, session } = await this.#session(sessionId);
    await cancel(link, this.#core.agentRequests, session);
  }

  // ---- settings

  /** Sets a session's mode. */
  async setSessionMode(sessionId: string, mode: string): Promise<void> {
    const { link, session } = await this.#session(sessionId);
    await setMode(link, session, mode);
  }

  /** Sets a session's model. */
  async setSessionModel(sessionId: string, model: string): Promise<void> {
    const { link, session } = await this.#session(sessionId);
    await setModel(link, session, model);
  }

  /** Sets a config option of a session. */
  async setSessionConfigOption(sessionId: string, optionId: string, value: string | boolean): Promise<void> {
    const { link, session } = await this.#session(sessionId);
    await setOption(link, session, optionId, value);
  }

  /** Lists the models of a session. Without a session id, lists the models that the server reports for the agent. */
  async listModels(sessionId?: string): Promise<ModelList> {
    if (sessionId === undefined) {
      const { info } = await this.#core.ready();
      const { models, options } = await this.agents.get(info.agent, { config: true });
      const current = options.find(({ category }) => category === "model")?.value;
      return { models, ...(typeof current === "string" && { currentModelId: current }) };
    }
    const { session } = await this.#session(sessionId);
    const { models, model } = session.settings;
    return { models, ...(model !== undefined && { currentModelId: model }) };
  }

  // ---- events, permissions, questions

  /** Streams events from now on. */
  events(filter?: EventFilter): AsyncGenerator<SandboxEvent, void, void> {
    return this.#core.recorder.stream(filter);
  }

  /** Calls a function with every event. Returns a function that unsubscribes the listener. */
  onEvent(listener: (event: SandboxEvent) => void): () => void {
    return this.#core.recorder.listen(listener);
  }

  /** Reads a session's history from the store. To poll, pass `next` as `after`. Needs no connection. */
  async getEvents(sessionId: string, range: HistoryRange = {}): Promise<History> {
    return history(this.#core, this.#core.link()?.sessions.find(sessionId)?.record.id ?? sessionId, range);
  }

  /**
   * Handles permission requests, including those that are already open. The handler's result is the reply. Returns a
   * function that unsubscribes the handler.
   */
  onPermission(handler: PermissionHandler): () => void {
    return this.#core.agentRequests.onPermission(handler);
  }

  /** The permission requests that are open. */
  get pendingPermissions(): readonly PermissionRequest[] {
    return this.#core.agentRequests.permissions();
  }

  /** Replies to a permission request. */
  async replyPermission(permissionId: string, decision: PermissionDecision): Promise<void> {
    await this.#core.ready();
    this.#core.agentRequests.replyPermission(permissionId, decision);
  }

  /**
   * Handles questions, including those that are already open. The handler's result is the answer; `null` rejects the
   * question. Returns a function that unsubscribes the handler.
   */
  onQuestion(handler: QuestionHandler): () => void {
    return this.#core.agentRequests.onQuestion(handler);
  }

  /** The questions that are open. */
  get pendingQuestions(): readonly Question[] {
    return this.#core.agentRequests.questions();
  }

  /** Answers a question, with one list per field. */
  async replyQuestion(questionId: string, answers: Answers): Promise<void> {
    await this.#core.ready();
    this.#core.agentRequests.replyQuestion(questionId, answers);
  }

  /** Rejects a question. */
  async rejectQuestion(questionId: string): Promise<void> {
    await this.#core.ready();
    this.#core.agentRequests.rejectQuestion(questionId);
  }

  // ---- server and disposal

  /** Reads the health of the server. Needs no connection. */
  async health(): Promise<Health> {
    return readHealth(this.#core.http);
  }

  /** Disconnects, ends event streams, and shuts down the server if this client has started it. */
  async dispose(): Promise<void> {
    this.#disposing ??= this.#end().finally(() => {
      this.#disposing = undefined;
    });
    await this.#disposing;
  }

  async #end(): Promise<void> {
    try {
      await this.#core.disconnect();
    } finally {
      this.#core.recorder.end();
      await this.#core.recorder.flush();
      if (this.#core.options.store === undefined) await this.#core.store.close();
      await this.#server?.stop();
    }
  }

  /** The same as {@link SandboxAgentClient.dispose}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #reopen(sessionId: string, open: () => Promise<SessionProperties>): Promise<Session> {
    const known = this.#reopening.get(sessionId);
    if (known) return known;
    const opening = open()
      .then((session) => this.#withMethods(session))
      .finally(() => this.#reopening.delete(sessionId));
    this.#reopening.set(sessionId, opening);
    return opening;
  }

  /** Adds the methods of a session. They are not enumerable, so that a session can be cloned and compared as data. */
  #withMethods(session: SessionProperties): Session {
    const prompt: Session["prompt"] = (message, options) => this.prompt(session.id, message, options);
    return Object.defineProperty(session as Session, "prompt", { value: prompt });
  }

  async #session(sessionId: string): Promise<{ link: Link; session: OpenSession }> {
    const link = await this.#core.ready();
    const session = link.sessions.find(sessionId);
    if (!session) throw new NotFoundError("open session", sessionId);
    return { link, session };
  }

  /** The connection, for calls that also work without one. */
  async #linkIfAny(): Promise<Link | undefined> {
    if (this.#core.status() === "disconnected") return undefined;
    return this.#core.ready().catch(() => undefined);
  }
}
