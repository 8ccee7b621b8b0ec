/** The client: one object for one agent in a sandbox, its sessions, and the sandbox's files and settings. */

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
import { type EmbeddedOptions, type EmbeddedServer, startServer } from "./client/embedded.ts";
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
import { type ModelList, setMode, setModel, setOption } from "./client/settings.ts";
import { cancel, prompt } from "./client/turns.ts";
import type { PermissionRequest } from "./convert/permissions.ts";
import type { Answers, Question } from "./convert/questions.ts";
import { ConnectionLostError, NotFoundError } from "./errors.ts";
import type { SandboxEvent } from "./events.ts";
import type { JsonObject } from "./json.ts";
import type { Session, SessionInfo, TurnResult } from "./session.ts";

/**
 * A client of one agent.
 *
 * It connects when it is made, unless `autoConnect` is `false`, and has at most one connection at a time. Calls that
 * need the connection wait while it is being made, and fail with {@link NotConnectedError} when there is none.
 */
export class SandboxAgentClient implements AsyncDisposable {
  readonly #core: Core;
  /** Sessions that are being opened again, by id: a second call for one waits for the first. */
  readonly #reopening = new Map<string, Promise<Session>>();
  #server: EmbeddedServer | undefined;
  #disposing: Promise<void> | undefined;

  /** The server's agents: list, look up, install. */
  readonly agents: Agents;
  /** The sandbox's files. */
  readonly files: Files;
  /** Tool servers that the server keeps for directories. */
  readonly mcpConfig: ConfigEntries<StoredMcpServer>;
  /** Skills that the server keeps for directories. */
  readonly skillsConfig: ConfigEntries<SkillsConfig>;

  /** Makes a client, and connects it unless told otherwise. A failure to connect is what the next call fails with. */
  constructor(options: SandboxAgentClientOptions) {
    this.#core = createCore(options);
    this.agents = createAgents(this.#core.http);
    this.files = this.#core.files;
    this.mcpConfig = createMcpConfig(this.#core.http);
    this.skillsConfig = createSkillsConfig(this.#core.http);
    if (options.autoConnect !== false) this.#core.connect().catch(() => {});
  }

  /**
   * Starts a server of its own on a free port with a random token, and connects to it. The server stops with the
   * client: on {@link SandboxAgentClient.dispose}, at the end of an `await using` block, and when the process ends in
   * any way.
   */
  static async start(options: EmbeddedOptions): Promise<SandboxAgentClient> {
    const server = await startServer(options);
    const client = new SandboxAgentClient({ ...options, baseUrl: server.baseUrl, token: server.token });
    client.#server = server;
    server.ended.then((how) => {
      client.#core.serverGone(new ConnectionLostError(`this client's own server has ended (${how})`));
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

  // ---- the connection

  /** Whether there is a connection. */
  get status(): ConnectionStatus {
    return this.#core.status();
  }

  /** What is connected to; `undefined` when nothing is. */
  get connection(): ConnectionInfo | undefined {
    return this.#core.link()?.info;
  }

  /** Where the client's own server is; `undefined` when it was not started by {@link SandboxAgentClient.start}. */
  get server(): { readonly baseUrl: string; readonly token: string } | undefined {
    return this.#server && { baseUrl: this.#server.baseUrl, token: this.#server.token };
  }

  /**
   * Connects to the agent, starting it if need be.
   *
   * @throws AlreadyConnectedError when there is a connection, or one is being made.
   */
  async connect(options?: ConnectOptions): Promise<ConnectionInfo> {
    return this.#core.connect(options);
  }

  /** Ends the connection and the agent. If a session was detached, the agent is left running. */
  async disconnect(): Promise<void> {
    await this.#core.disconnect();
  }

  /** Signs in to the agent, by one of `connection.authMethods`. */
  async authenticate(methodId: string): Promise<void> {
    const { connection } = await this.#core.ready();
    await connection.request("authenticate", { methodId });
  }

  // ---- sessions

  /** Opens a new session. */
  async newSession(options: NewSessionRequest = {}): Promise<Session> {
    return newSession(this.#core, await this.#core.ready(), options);
  }

  /** Opens a session that the agent has. Its history comes as events, unless the store has it already. */
  async loadSession(sessionId: string, options: LoadSessionOptions = {}): Promise<Session> {
    return this.#reopen(sessionId, async () => loadSession(this.#core, await this.#core.ready(), sessionId, options));
  }

  /**
   * Goes on with a session. If the agent has ended or the server was restarted, this connects again and starts the
   * agent; it then restores the session, by the agent's own means or by telling the agent the newest stored turns.
   */
  async resumeSession(sessionId: string, options: LoadSessionOptions = {}): Promise<Session> {
    return this.#reopen(sessionId, async () =>
      resumeSession(this.#core, await this.#core.recover(), sessionId, options),
    );
  }

  /** Copies a session. */
  async forkSession(sessionId: string, options: { readonly title?: string } = {}): Promise<Session> {
    const { link, session } = await this.#session(sessionId);
    return forkSession(this.#core, link, session, options.title);
  }

  /** All sessions: those of the store, and when there is a connection those that only the agent knows. */
  async listSessions(): Promise<readonly SessionInfo[]> {
    return listSessions(this.#core, await this.#linkIfAny());
  }

  /** Leaves a session while the agent works on. A client with the same `serverId` and store goes on with it later. */
  async detachSession(sessionId: string): Promise<void> {
    const { link, session } = await this.#session(sessionId);
    session.isDetached = true;
    for (const leave of [...session.onDetach]) leave();
    if (link.sessions.all().every(({ isDetached }) => isDetached)) await this.#core.detach();
  }

  /** Ends a session. Fine when it has ended already. */
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

  /** Changes what is kept with a session. `null` forgets a key. */
  async setMetadata(sessionId: string, metadata: JsonObject): Promise<SessionInfo> {
    return setMetadata(this.#core, await this.#linkIfAny(), sessionId, metadata);
  }

  // ---- turns

  /** Gives the agent a prompt and waits until it is done. What it says meanwhile comes as events. */
  async prompt(sessionId: string, message: string | PromptMessage, options?: PromptOptions): Promise<TurnResult> {
    const { link, session } = await this.#session(sessionId);
    return prompt(link, this.#core.agentRequests, session, message, options);
  }

  /** Cancels the turn that is on. The session stays. */
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

  /** Sets one of a session's options. */
  async setSessionConfigOption(sessionId: string, optionId: string, value: string | boolean): Promise<void> {
    const { link, session } = await this.#session(sessionId);
    await setOption(link, session, optionId, value);
  }

  /** The models of a session, or without one those that the server finds for the agent. */
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

  /** Events from now on, as a stream. */
  events(filter?: EventFilter): AsyncGenerator<SandboxEvent, void, void> {
    return this.#core.recorder.stream(filter);
  }

  /** Calls a function with every event. Returns what stops it. */
  onEvent(listener: (event: SandboxEvent) => void): () => void {
    return this.#core.recorder.listen(listener);
  }

  /** A session's history from the store, for polling: ask again behind `next`. Needs no connection. */
  async getEvents(sessionId: string, range: HistoryRange = {}): Promise<History> {
    return history(this.#core, this.#core.link()?.sessions.find(sessionId)?.record.id ?? sessionId, range);
  }

  /** Hears of permission requests, open ones included. What it returns is the reply. Returns what stops it. */
  onPermission(handler: PermissionHandler): () => void {
    return this.#core.agentRequests.onPermission(handler);
  }

  /** Permission requests that nobody has replied to. */
  get pendingPermissions(): readonly PermissionRequest[] {
    return this.#core.agentRequests.permissions();
  }

  /** Replies to a permission request. */
  async replyPermission(permissionId: string, decision: PermissionDecision): Promise<void> {
    await this.#core.ready();
    this.#core.agentRequests.replyPermission(permissionId, decision);
  }

  /** Hears of questions, open ones included. What it returns is the answer, `null` a rejection. Returns what stops it. */
  onQuestion(handler: QuestionHandler): () => void {
    return this.#core.agentRequests.onQuestion(handler);
  }

  /** Questions that nobody has answered. */
  get pendingQuestions(): readonly Question[] {
    return this.#core.agentRequests.questions();
  }

  /** Answers a question: one list for each of its fields. */
  async replyQuestion(questionId: string, answers: Answers): Promise<void> {
    await this.#core.ready();
    this.#core.agentRequests.replyQuestion(questionId, answers);
  }

  /** Rejects a question. */
  async rejectQuestion(questionId: string): Promise<void> {
    await this.#core.ready();
    this.#core.agentRequests.rejectQuestion(questionId);
  }

  // ---- the server, and the end

  /** How the server is. Needs no connection. */
  async health(): Promise<Health> {
    return readHealth(this.#core.http);
  }

  /** Disconnects, ends event streams, and stops the client's own server. */
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

  async #reopen(sessionId: string, open: () => Promise<Session>): Promise<Session> {
    const known = this.#reopening.get(sessionId);
    if (known) return known;
    const opening = open().finally(() => this.#reopening.delete(sessionId));
    this.#reopening.set(sessionId, opening);
    return opening;
  }

  async #session(sessionId: string): Promise<{ link: Link; session: OpenSession }> {
    const link = await this.#core.ready();
    const session = link.sessions.find(sessionId);
    if (!session) throw new NotFoundError("open session", sessionId);
    return { link, session };
  }

  /** The connection, for calls that do without one, too. */
  async #linkIfAny(): Promise<Link | undefined> {
    if (this.#core.status() === "disconnected") return undefined;
    return this.#core.ready().catch(() => undefined);
  }
}
