/**
 * The life of a client: at most one connection, made by `connect`, ended by `disconnect`, lost when the agent or the
 * server goes. Calls ask `ready()` for the connection and fail there when there is none.
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
import type { ConnectionInfo } from "./abilities.ts";
import { type Asks, createAsks } from "./asks.ts";
import { attach, watchTurns } from "./attach.ts";
import { type HostOptions, hostCapabilities } from "./host.ts";
import { now, randomId } from "./ids.ts";
import { answerAgent, hearEvent } from "./incoming.ts";
import { type Link, openLink } from "./link.ts";
import { createLiveSessions } from "./live.ts";
import type { ConnectOptions, SandboxAgentClientOptions } from "./options.ts";
import { createRecorder, type Recorder } from "./recorder.ts";
import type { Wire } from "./wire.ts";

/** How a client stands. */
export type ConnectionStatus = "disconnected" | "connecting" | "connected";

/** What the calls of a client share. */
export interface Core {
  readonly options: SandboxAgentClientOptions;
  readonly http: Http;
  readonly files: Files;
  readonly store: SessionStore;
  readonly recorder: Recorder;
  readonly asks: Asks;
  status(): ConnectionStatus;
  /** The connection, without waiting for one. */
  link(): Link | undefined;
  /** The connection; waits for one that is being made. */
  ready(): Promise<Link>;
  connect(options?: ConnectOptions): Promise<ConnectionInfo>;
  /** Connects again if the connection was lost; fails when it was never there or was given up. */
  recover(): Promise<Link>;
  disconnect(): Promise<void>;
  /** Ends the connection and leaves the agent running. */
  detach(): Promise<void>;
  /** The server is known to be gone: whatever waits for it fails at once. */
  serverGone(reason: SandboxAgentError): void;
}

type State =
  | { readonly kind: "idle"; readonly lost?: SandboxAgentError; readonly failed?: unknown }
  | Attempt
  | { readonly kind: "connected"; readonly link: Link };

/** A connection that is being made. */
interface Attempt {
  readonly kind: "connecting";
  readonly promise: Promise<Link>;
  /** Aborted when the caller has left. */
  readonly abandon: AbortController;
  /** There as soon as something has to be closed. */
  wire?: Wire;
}

/** Where to connect to. */
interface Target extends Required<ConnectOptions> {
  /** Whether the id was made up here, so that nobody else can have it. */
  readonly isPrivate: boolean;
}

/** Makes the core of a client. Nothing is connected yet. */
export function createCore(options: SandboxAgentClientOptions): Core {
  // The calls over HTTP and the connection to the agent share one token.
  const { token } = options;
  const server: ServerOptions = { ...options, ...(token !== undefined && { token: sharedToken(token) }) };
  const http = createHttp(server);
  const files = createFiles(http);
  const store = options.store ?? memoryStore();
  const host: HostOptions = { files: options.files ? files : undefined, terminals: options.terminals };
  let state: State = { kind: "idle" };
  const current = (): State => state;
  let last: Target | undefined;
  /** The end of the connection before, while it is still going on. */
  let leaving: Promise<unknown> = Promise.resolve();
  let sessions: Link["sessions"] | undefined;

  const recorder = createRecorder(store, (error) => {
    const message = `the store failed: ${error instanceof Error ? error.message : error}`;
    const base = { id: randomId("event"), sessionId: "", time: now(), source: "client" as const, synthetic: true };
    recorder.tell({ ...base, type: "error", code: "store_failed", message });
  });
  const asks = createAsks((sessionId, body) => sessions?.tell(sessionId, body));

  const onEnd = (wire: Wire, reason: SandboxAgentError): void => {
    const isCurrent = state.kind === "connected" && state.link.wire === wire;
    if (!isCurrent || state.kind !== "connected") return;
    const { link } = state;
    state = { kind: "idle", lost: reason };
    for (const live of link.sessions.all()) {
      if (live.turn || live.record.turnId) link.sessions.endTurn(live, "error", { synthetic: true, source: "client" });
      if (reason instanceof ConnectionLostError) {
        const body = { type: "error" as const, code: reason.code, message: reason.message };
        link.sessions.emit(live, body, { synthetic: true, source: "client" });
      }
    }
  };

  const storedHere = async (serverId: string, process: string): Promise<readonly StoredSession[]> => {
    const found: StoredSession[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.listSessions({ limit: 200, ...(cursor !== undefined && { cursor }) });
      found.push(...page.items.filter((session) => session.serverId === serverId && session.process === process));
      cursor = page.next;
    } while (cursor !== undefined);
    return found;
  };

  const open = async (to: Target, attempt: Attempt): Promise<Link> => {
    const adopt = (agentSessionId: string): Promise<StoredSession> => adopted(store, to, agentSessionId);
    const own = createLiveSessions(recorder, adopt);
    sessions = own;
    const link = await openLink({
      ...server,
      ...to,
      http,
      sessions: own,
      signal: attempt.abandon.signal,
      capabilities: hostCapabilities(host),
      retry: options.retry,
      async cursorFor(process) {
        const mine = await storedHere(to.serverId, process);
        // Known before the first event is read, so that none is taken for another client's session.
        for (const record of mine) attach(own, record);
        return mine.map(({ cursor }) => cursor).find((cursor) => cursor !== undefined);
      },
      onRequest: (method, params, asked) => answerAgent({ sessions: own, asks, host }, method, params, asked),
      onEvent: (event) => hearEvent({ sessions: own, asks }, event),
      onWire(wire) {
        attempt.wire = wire;
      },
      onEnd,
    });
    watchTurns(http, link);
    return link;
  };

  const carryOut = async (to: Target, attempt: Attempt, lost: SandboxAgentError | undefined): Promise<Link> => {
    const { abandon } = attempt;
    try {
      // Under the same id: what ends the old agent must not meet the new one.
      await leaving;
      const link = await open(to, attempt);
      const over = link.wire.reason();
      if (over) throw over;
      abandon.signal.throwIfAborted();
      state = { kind: "connected", link };
      return link;
    } catch (error) {
      const { wire } = attempt;
      if (current() === attempt) state = { kind: "idle", failed: error, ...(lost && { lost }) };
      // An agent that said no is of no use to anybody; anything else may belong to others. Who has left has closed it.
      const isOurs = error instanceof AgentError || (to.isPrivate && !(error instanceof ConnectionLostError));
      await wire?.[isOurs && !abandon.signal.aborted ? "close" : "detach"]().catch(() => {});
      throw error;
    }
  };

  const targetOf = ({ agent = options.agent, serverId = options.serverId }: ConnectOptions): Target => {
    if (agent === undefined) throw new TypeError('say which agent to connect to: { agent: "mock" }');
    const before = last?.isPrivate ? last.serverId : undefined;
    return { agent, serverId: serverId ?? before ?? randomId("sdk"), isPrivate: serverId === undefined };
  };

  const connect = (to: Target): Promise<Link> => {
    if (state.kind !== "idle") throw new AlreadyConnectedError();
    const { lost } = state;
    last = to;
    const abandon = new AbortController();
    const abandoned = new Promise<never>((_, reject) => {
      abandon.signal.addEventListener("abort", () => reject(abandon.signal.reason), { once: true });
    });
    const carriedOut = Promise.resolve().then(() => carryOut(to, attempt, lost));
    const attempt: Attempt = { kind: "connecting", abandon, promise: Promise.race([carriedOut, abandoned]) };
    // Whoever waits for the connection hears of its failure; if nobody does, nothing is lost.
    attempt.promise.catch(() => {});
    state = attempt;
    return attempt.promise;
  };

  const finish = async (before: State, how: "close" | "detach"): Promise<void> => {
    try {
      if (before.kind === "connecting") await giveUp(before, how);
      else if (before.kind === "connected") await part(before.link, how);
      else if (how === "close" && before.lost instanceof AgentExitedError && last) {
        // The server remembers an agent that has ended until it is told not to.
        await http.request(`/v1/acp/${encodeURIComponent(last.serverId)}`, { method: "DELETE" }).catch(() => {});
      }
    } finally {
      await recorder.flush();
    }
  };
  const leave = async (how: "close" | "detach"): Promise<void> => {
    const before = state;
    state = { kind: "idle" };
    // Whoever leaves twice waits for the first time, too.
    const done = Promise.all([finish(before, how), leaving]);
    leaving = done.catch(() => {});
    await done;
  };

  return {
    options,
    http,
    files,
    store,
    recorder,
    asks,
    status: () => (state.kind === "idle" ? "disconnected" : state.kind),
    link: () => (state.kind === "connected" ? state.link : undefined),
    async ready() {
      if (state.kind === "connecting") return state.promise;
      if (state.kind === "connected") return state.link;
      throw state.lost ?? notConnected(state.failed);
    },
    async connect(given = {}) {
      return (await connect(targetOf(given))).info;
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
      if (state.kind === "connecting") state.wire?.giveUp(reason);
      else if (state.kind === "connected") state.link.wire.giveUp(reason);
    },
  };
}

/** Ends a connection that is still being made. */
async function giveUp({ abandon, wire }: Attempt, how: "close" | "detach"): Promise<void> {
  abandon.abort(new NotConnectedError("disconnected before the connection was made"));
  // Without a wire nothing was started, and nothing will be.
  await wire?.[how]();
}

/** Ends a connection. The agent is left running where it has sessions that the caller has detached from. */
async function part(link: Link, how: "close" | "detach"): Promise<void> {
  const isLeft = how === "close" && link.sessions.all().some((live) => live.isDetached);
  const ending = isLeft ? "detach" : how;
  if (ending === "close") endSessions(link);
  await link.wire[ending]();
  await link.wire.ended;
  if (ending === "detach") saveCursors(link);
}

function notConnected(failed: unknown): NotConnectedError {
  if (failed === undefined) return new NotConnectedError();
  const why = failed instanceof Error ? failed.message : String(failed);
  return new NotConnectedError(`not connected: the last try failed (${why}); call connect() again`, { cause: failed });
}

/** The agent goes, and its sessions with it. */
function endSessions({ sessions }: Link): void {
  for (const live of sessions.all()) {
    if (live.turn) sessions.endTurn(live, "cancelled", { synthetic: true, source: "client" });
    if (live.record.endedAt !== undefined) continue;
    const body = { type: "session.ended" as const, reason: "disconnected", terminatedBy: "client" };
    sessions.emit(live, body, { synthetic: true, source: "client" });
    sessions.update(live, { endedAt: now() });
  }
}

/** Where a later client goes on. */
function saveCursors({ sessions, wire }: Link): void {
  const cursor = wire.cursor();
  for (const live of sessions.all()) sessions.update(live, cursor === undefined ? {} : { cursor });
}

/** The record of a session that somebody else has opened. */
async function adopted(
  store: SessionStore,
  to: Required<ConnectOptions>,
  agentSessionId: string,
): Promise<StoredSession> {
  const known = await store.getSession(agentSessionId);
  const isSame = known?.serverId === to.serverId && known.agent === to.agent;
  if (known && isSame) {
    const { eventCount: _, ...record } = known;
    return record;
  }
  return {
    id: known ? randomId("session") : agentSessionId,
    agent: to.agent,
    agentSessionId,
    serverId: to.serverId,
    directory: "",
    createdAt: now(),
    updatedAt: now(),
    metadata: {},
  };
}
