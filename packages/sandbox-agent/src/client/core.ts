/**
 * The connection state of a client. There is at most one connection: `connect` makes it, `disconnect` ends it, and it
 * is lost when the agent or the server exits. Calls get the connection from `ready()`, which rejects if there is none.
 */

import { sharedToken } from "acp-http-client/internal";
import { createFiles, type Files } from "../api/files.ts";
import {
  AgentError,
  AgentExitedError,
  AlreadyConnectedError,
  ConnectionLostError,
  NotConnectedError,
  type SandboxAgentError,
} from "../errors.ts";
import { createHttp, type Http, type ServerOptions } from "../http.ts";
import { memoryStore } from "../store/memory.ts";
import type { SessionStore, StoredSession } from "../store/types.ts";
import { type AgentRequests, createAgentRequests } from "./agent-requests.ts";
import { attach, watchTurns } from "./attach.ts";
import type { ConnectionInfo } from "./capabilities.ts";
import { type ClientMethodOptions, clientCapabilities } from "./client-methods.ts";
import type { Connection } from "./connection.ts";
import { now, randomId } from "./ids.ts";
import { onAgentRequest, onStreamEvent } from "./incoming.ts";
import { type Link, openLink } from "./link.ts";
import { createOpenSessions } from "./open-sessions.ts";
import type { ConnectOptions, SandboxAgentClientOptions } from "./options.ts";
import { createOutage } from "./outage.ts";
import { createRecorder, type Recorder } from "./recorder.ts";

/** The connection state of a client. */
export type ConnectionStatus = "disconnected" | "connecting" | "connected";

/** The state that all calls of a client share. */
export interface Core {
  readonly options: SandboxAgentClientOptions;
  readonly http: Http;
  readonly files: Files;
  readonly store: SessionStore;
  readonly recorder: Recorder;
  readonly agentRequests: AgentRequests;
  status(): ConnectionStatus;
  /** The connection, if there is one now. */
  link(): Link | undefined;
  /** Resolves with the connection; waits for one that is being made. */
  ready(): Promise<Link>;
  connect(options?: ConnectOptions): Promise<ConnectionInfo>;
  /** Reconnects if the connection was lost. Rejects if there never was one, or if the caller has disconnected. */
  recover(): Promise<Link>;
  disconnect(): Promise<void>;
  /** Closes the connection and leaves the agent running. */
  detach(): Promise<void>;
  /** Fails everything that waits for the server, because the server has exited. */
  serverGone(reason: SandboxAgentError): void;
}

type State =
  | { readonly kind: "idle"; readonly lost?: SandboxAgentError; readonly failed?: unknown }
  | Attempt
  | { readonly kind: "connected"; readonly link: Link };

/** A connection attempt. */
interface Attempt {
  readonly kind: "connecting";
  readonly promise: Promise<Link>;
  /** Aborts the attempt when the caller disconnects. */
  readonly abort: AbortController;
  /** The connection, from the moment at which there is one to close. */
  connection?: Connection;
}

/** What to connect to. */
interface Target extends Required<ConnectOptions> {
  /** True if this client generated the id, so that no other client uses it. */
  readonly isPrivate: boolean;
}

/** Makes the core of a client. Does not connect. */
export function createCore(options: SandboxAgentClientOptions): Core {
  // HTTP calls and the connection to the agent share one token.
  const { token } = options;
  const server: ServerOptions = { ...options, ...(token !== undefined && { token: sharedToken(token) }) };
  const http = createHttp(server);
  const files = createFiles(http);
  const store = options.store ?? memoryStore();
  const host: ClientMethodOptions = { files: options.files ? files : undefined, terminals: options.terminals };
  let state: State = { kind: "idle" };
  const current = (): State => state;
  let last: Target | undefined;
  /** The disconnect in progress. */
  let disconnecting: Promise<unknown> = Promise.resolve();
  let sessions: Link["sessions"] | undefined;

  const recorder = createRecorder(store, (error) => {
    const message = `the store failed: ${error instanceof Error ? error.message : error}`;
    const base = { id: randomId("event"), sessionId: "", time: now(), source: "client" as const, synthetic: true };
    recorder.notify({ ...base, type: "error", code: "store_failed", message });
  });
  const agentRequests = createAgentRequests((...event) => sessions?.report(...event));

  const onEnd = (connection: Connection, reason: SandboxAgentError): void => {
    const isCurrent = state.kind === "connected" && state.link.connection === connection;
    if (!isCurrent || state.kind !== "connected") return;
    const { link } = state;
    state = { kind: "idle", lost: reason };
    for (const session of link.sessions.all()) {
      if (session.turn || session.record.turnId)
        link.sessions.endTurn(session, "error", { synthetic: true, source: "client" });
      if (reason instanceof ConnectionLostError) {
        const body = { type: "error" as const, code: reason.code, message: reason.message };
        link.sessions.emit(session, body, { synthetic: true, source: "client" });
      }
    }
  };

  const storedSessions = async (serverId: string, process: string): Promise<readonly StoredSession[]> => {
    const found: StoredSession[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.listSessions({ limit: 200, ...(cursor !== undefined && { cursor }) });
      found.push(...page.items.filter((session) => session.serverId === serverId && session.process === process));
      cursor = page.next;
    } while (cursor !== undefined);
    return found;
  };

  const open = async (target: Target, attempt: Attempt): Promise<Link> => {
    const adopt = (agentSessionId: string): Promise<StoredSession> => adopted(store, target, agentSessionId);
    const own = createOpenSessions(recorder, adopt);
    sessions = own;
    const outage = createOutage((body) => {
      for (const session of own.all()) own.emit(session, body, { source: "client", synthetic: true });
    });
    const link = await openLink({
      ...server,
      ...target,
      http,
      sessions: own,
      signal: attempt.abort.signal,
      capabilities: clientCapabilities(host),
      retry: options.retry,
      async cursorFor(process) {
        const stored = await storedSessions(target.serverId, process);
        // Added before the first event is read: otherwise these sessions would be taken for another client's.
        for (const record of stored) attach(own, record);
        return stored.map(({ cursor }) => cursor).find((cursor) => cursor !== undefined);
      },
      onRequest: (method, params, context) =>
        onAgentRequest({ sessions: own, agentRequests, host }, method, params, context),
      onEvent: (event) => onStreamEvent({ sessions: own, agentRequests, outage }, event),
      onConnection(connection) {
        attempt.connection = connection;
        connection.ended.then(outage.end);
      },
      onEnd,
    });
    watchTurns(http, link);
    return link;
  };

  const connectTo = async (target: Target, attempt: Attempt, lost: SandboxAgentError | undefined): Promise<Link> => {
    const { abort } = attempt;
    try {
      // Otherwise the DELETE request for the old instance could close the new one, which has the same id.
      await disconnecting;
      const link = await open(target, attempt);
      const endReason = link.connection.reason();
      if (endReason) throw endReason;
      abort.signal.throwIfAborted();
      state = { kind: "connected", link };
      return link;
    } catch (error) {
      const { connection } = attempt;
      if (current() === attempt) state = { kind: "idle", failed: error, ...(lost && { lost }) };
      // Shuts the instance down if its agent has refused to initialize, which it would do for any client, or if only
      // this client knows its id. Otherwise other clients may use it. A caller that has disconnected has already closed
      // the connection.
      const isOurs = error instanceof AgentError || (target.isPrivate && !(error instanceof ConnectionLostError));
      await connection?.[isOurs && !abort.signal.aborted ? "close" : "detach"]().catch(() => {});
      throw error;
    }
  };

  const targetOf = ({ agent = options.agent, serverId = options.serverId }: ConnectOptions): Target => {
    if (agent === undefined) throw new TypeError('no agent given: pass the option agent, such as { agent: "mock" }');
    const before = last?.isPrivate ? last.serverId : undefined;
    return { agent, serverId: serverId ?? before ?? randomId("sdk"), isPrivate: serverId === undefined };
  };

  const connect = (target: Target): Promise<Link> => {
    if (state.kind !== "idle") throw new AlreadyConnectedError();
    const { lost } = state;
    last = target;
    const abort = new AbortController();
    const abandoned = new Promise<never>((_, reject) => {
      abort.signal.addEventListener("abort", () => reject(abort.signal.reason), { once: true });
    });
    const connecting = Promise.resolve().then(() => connectTo(target, attempt, lost));
    const attempt: Attempt = { kind: "connecting", abort, promise: Promise.race([connecting, abandoned]) };
    // The callers of `ready()` receive the rejection. If there are none, it must not be reported as unhandled.
    attempt.promise.catch(() => {});
    state = attempt;
    return attempt.promise;
  };

  const finish = async (before: State, how: "close" | "detach"): Promise<void> => {
    try {
      if (before.kind === "connecting") await abandon(before, how);
      else if (before.kind === "connected") await disconnectFrom(before.link, how);
      else if (how === "close" && before.lost instanceof AgentExitedError && last) {
        // The server lists an exited instance until it is deleted.
        await http.request(`/v1/acp/${encodeURIComponent(last.serverId)}`, { method: "DELETE" }).catch(() => {});
      }
    } finally {
      await recorder.flush();
    }
  };
  const leave = async (how: "close" | "detach"): Promise<void> => {
    const before = state;
    state = { kind: "idle" };
    // A second disconnect also waits for the first one.
    const done = Promise.all([finish(before, how), disconnecting]);
    disconnecting = done.catch(() => {});
    await done;
  };

  return {
    options,
    http,
    files,
    store,
    recorder,
    agentRequests,
    status: () => (state.kind === "idle" ? "disconnected" : state.kind),
    link: () => (state.kind === "connected" ? state.link : undefined),
    async ready() {
      if (state.kind === "connecting") return state.promise;
      if (state.kind === "connected") return state.link;
      throw state.lost ?? notConnected(state.failed);
    },
    async connect(given = {}) {
      let target: Target;
      try {
        target = targetOf(given);
      } catch (error) {
        // The constructor ignores this error, so the next call reports it.
        if (state.kind === "idle") state = { ...state, failed: error };
        throw error;
      }
      return (await connect(target)).info;
    },
    async recover() {
      if (state.kind === "connecting") return state.promise;
      if (state.kind === "connected") return state.link;
      if (!state.lost || !last) throw notConnected(state.failed);
      return connect(last);
    },
    disconnect: () => leave("close"),
    detach: () => leave("detach"),
    serverGone(reason) {
      if (state.kind === "connecting") state.connection?.fail(reason);
      else if (state.kind === "connected") state.link.connection.fail(reason);
    },
  };
}

/** Aborts a connection attempt. */
async function abandon({ abort, connection }: Attempt, how: "close" | "detach"): Promise<void> {
  abort.abort(new NotConnectedError("disconnected before the connection was made"));
  // Without a connection nothing was started, and nothing will be.
  await connection?.[how]();
}

/** Closes a connection. The agent keeps running if a session was detached. */
async function disconnectFrom(link: Link, how: "close" | "detach"): Promise<void> {
  const keepsRunning = how === "close" && link.sessions.all().some((session) => session.isDetached);
  const ending = keepsRunning ? "detach" : how;
  if (ending === "close") endSessions(link);
  await link.connection[ending]();
  await link.connection.ended;
  if (ending === "detach") saveCursors(link);
}

function notConnected(failed: unknown): NotConnectedError {
  if (failed === undefined) return new NotConnectedError();
  const why = failed instanceof Error ? failed.message : String(failed);
  return new NotConnectedError(`not connected: the last attempt failed (${why}); call connect() again`, {
    cause: failed,
  });
}

/** Ends all sessions, because the agent is shut down. */
function endSessions({ sessions }: Link): void {
  for (const session of sessions.all()) {
    if (session.turn) sessions.endTurn(session, "cancelled", { synthetic: true, source: "client" });
    if (session.record.endedAt !== undefined) continue;
    const body = { type: "session.ended" as const, reason: "disconnected", terminatedBy: "client" };
    sessions.emit(session, body, { synthetic: true, source: "client" });
    sessions.update(session, { endedAt: now() });
  }
}

/** Saves the cursor from which a later client resumes the event stream. */
function saveCursors({ sessions, connection }: Link): void {
  const cursor = connection.cursor();
  for (const session of sessions.all()) sessions.update(session, cursor === undefined ? {} : { cursor });
}

/** Makes the record of a session that another client has opened. */
async function adopted(
  store: SessionStore,
  target: Required<ConnectOptions>,
  agentSessionId: string,
): Promise<StoredSession> {
  const known = await store.getSession(agentSessionId);
  const isSame = known?.serverId === target.serverId && known.agent === target.agent;
  if (known && isSame) {
    const { eventCount: _, ...record } = known;
    return record;
  }
  return {
    id: known ? randomId("session") : agentSessionId,
    agent: target.agent,
    agentSessionId,
    serverId: target.serverId,
    directory: "",
    createdAt: now(),
    updatedAt: now(),
    metadata: {},
  };
}
