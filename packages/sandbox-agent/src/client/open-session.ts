/**
 * Opens sessions: creates, loads, resumes or forks them. If the agent no longer has a session, its stored conversation
 * is replayed to the agent.
 */

import { createMcpConfig, type StoredMcpServer } from "../api/config.ts";
import type { McpOptions, McpServerConfig, McpServers } from "../convert/mcp.ts";
import { newSessionParams, sessionMetadata } from "../convert/session.ts";
import { NO_SETTINGS, readSettings } from "../convert/settings.ts";
import {
  AgentError,
  AuthenticationRequiredError,
  NotFoundError,
  SandboxAgentError,
  UnsupportedError,
} from "../errors.ts";
import { compact, type JsonObject, objectOf, textOf } from "../json.ts";
import { openSession, type SessionProperties } from "../session.ts";
import type { StoredSession } from "../store/types.ts";
import type { Core } from "./core.ts";
import { now, randomId } from "./ids.ts";
import type { Link } from "./link.ts";
import { listedDirectory } from "./listing.ts";
import { type OpenSession, startedBody } from "./open-sessions.ts";
import type { LoadSessionOptions, NewSessionRequest } from "./options.ts";
import { replayText } from "./replay-text.ts";
import { setMode, setModel, setPermissionMode } from "./settings.ts";

/** Opens a new session. */
export async function newSession(core: Core, link: Link, request: NewSessionRequest): Promise<SessionProperties> {
  const { sessionId } = request;
  if (sessionId === undefined) return createSession(core, link, request);
  const isOpening = link.sessions.reserved.has(sessionId);
  link.sessions.reserved.add(sessionId);
  try {
    if (isOpening || (await storedSession(core, sessionId))) {
      const message = `there is a session "${sessionId}" already: continue it with resumeSession()`;
      throw new SandboxAgentError("session_exists", message);
    }
    return await createSession(core, link, request);
  } finally {
    if (!isOpening) link.sessions.reserved.delete(sessionId);
  }
}

async function createSession(core: Core, link: Link, request: NewSessionRequest): Promise<SessionProperties> {
  const directory = request.directory ?? (await workspace(core));
  const stored = request.useStoredMcp ? usable(await createMcpConfig(core.http).list(directory)) : {};
  const options = { ...request, mcp: { ...stored, ...request.mcp } };
  const { agent } = link.info;
  const { params, skipped } = newSessionParams(agent, directory, options, mcpOptions(core, link));
  const doneOpening = link.sessions.opening();
  try {
    const answer = await link.connection.request("session/new", params);
    const session = await addSession(core, link, answer, {
      agent,
      directory,
      metadata: sessionMetadata(agent, options),
      how: "new",
      ...compact({
        id: request.sessionId,
        mcp: Object.keys(options.mcp).length > 0 ? options.mcp : undefined,
        additionalDirectories: request.additionalDirectories,
      }),
    });
    const warnings = skipped.map(({ name, reason }) => `the MCP server "${name}" was left out: ${reason}`);
    warnings.push(...(await applySettings(link, session, request)));
    return openSession(session.record, session.settings, { openedBy: "new", warnings, eventCount: 0 });
  } finally {
    doneOpening();
  }
}

/** Converts stored MCP servers: `null` means the same as a missing field. */
function usable(stored: Readonly<Record<string, StoredMcpServer>>): McpServers {
  const present = (server: StoredMcpServer): McpServerConfig =>
    Object.fromEntries(Object.entries(server).filter(([, value]) => value !== null)) as unknown as McpServerConfig;
  return Object.fromEntries(Object.entries(stored).map(([name, server]) => [name, present(server)]));
}

interface NewRecord {
  readonly id?: string;
  readonly agent: string;
  readonly directory: string;
  readonly metadata: JsonObject;
  readonly mcp?: McpServers;
  readonly additionalDirectories?: readonly string[];
  readonly how: "new" | "forked";
}

async function addSession(core: Core, link: Link, answer: unknown, given: NewRecord): Promise<OpenSession> {
  const agentSessionId = textOf(objectOf(answer).sessionId);
  if (agentSessionId === undefined) throw new AgentError(0, "the agent returned no session id", answer);
  const settings = readSettings(answer);
  // Some agents number their sessions from one, and the store holds the sessions of many agents.
  const isTaken = given.id === undefined && (await storedSession(core, agentSessionId)) !== undefined;
  const { how, metadata, ...rest } = given;
  const record: StoredSession = {
    ...rest,
    ...compact({
      title: textOf(metadata.title),
      model: settings.model ?? textOf(metadata.model),
      mode: settings.mode ?? textOf(metadata.mode),
      process: link.process,
    }),
    metadata,
    id: given.id ?? (isTaken ? randomId("session") : agentSessionId),
    agentSessionId,
    serverId: link.info.serverId,
    createdAt: now(),
    updatedAt: now(),
  };
  return link.sessions.add(record, settings, startedBody(record, how), answer);
}

/**
 * Applies the requested settings. Returns a warning for each one that the agent refuses; that setting stays in the
 * session's metadata as a hint.
 */
async function applySettings(link: Link, session: OpenSession, request: NewSessionRequest): Promise<string[]> {
  const warnings: string[] = [];
  const attempt = async (what: string, run: () => Promise<void>): Promise<void> => {
    try {
      await run();
    } catch (error) {
      if (!(error instanceof AgentError) && !(error instanceof UnsupportedError)) throw error;
      warnings.push(`${what} was not set: ${error.message}`);
    }
  };
  const { mode, model, permissionMode } = request;
  if (model !== undefined && model !== session.settings.model) {
    await attempt(`the model "${model}"`, () => setModel(link, session, model));
  }
  if (mode !== undefined && mode !== session.settings.mode) {
    await attempt(`the mode "${mode}"`, () => setMode(link, session, mode));
  }
  if (permissionMode !== undefined) {
    await attempt(`the permission mode "${permissionMode}"`, () => setPermissionMode(link, session, permissionMode));
  }
  return warnings;
}

/** Loads a session that the agent has stored. The agent sends the session's history, which becomes events. */
export async function loadSession(
  core: Core,
  link: Link,
  id: string,
  options: LoadSessionOptions,
): Promise<SessionProperties> {
  if (!link.info.abilities.load) throw new UnsupportedError("loading sessions");
  const active = link.sessions.find(id);
  if (active?.turn) throw new SandboxAgentError("turn_in_progress", "the agent is still answering in this session");
  const known = await storedSession(core, active?.record.id ?? id);
  const record = await recordFor(core, link, id, known, options);
  const session = link.sessions.add(record, NO_SETTINGS, undefined);
  // If the store has the history already, recording it again would duplicate it.
  session.isReplaying = (known?.eventCount ?? 0) > 0;
  try {
    const answer = await link.connection.request("session/load", reopenParams(core, link, record));
    return opened(link, session, answer, "loaded", known?.eventCount ?? 0);
  } catch (error) {
    link.sessions.remove(session);
    throw error;
  }
}

/** Restores an interrupted session in the best way that the agent offers. */
export async function resumeSession(
  core: Core,
  link: Link,
  id: string,
  options: LoadSessionOptions,
): Promise<SessionProperties> {
  const active = link.sessions.find(id);
  if (active) {
    active.isDetached = false;
    if (active.record.directory === "") {
      const directory = options.directory ?? (await listedDirectory(link, active.record.agentSessionId));
      if (directory !== undefined) link.sessions.update(active, { directory });
    }
    const { eventCount = 0 } = (await storedSession(core, active.record.id)) ?? {};
    return openSession(active.record, active.settings, { openedBy: "attached", warnings: [], eventCount });
  }
  const known = await storedSession(core, id);
  const record = await recordFor(core, link, id, known, options);
  const session = link.sessions.add(record, NO_SETTINGS, undefined);
  const { resume, load } = link.info.abilities;
  const eventCount = known?.eventCount ?? 0;
  try {
    for (const [method, isOffered, how] of [
      ["session/resume", resume, "resumed"],
      ["session/load", load, "loaded"],
    ] as const) {
      if (!isOffered) continue;
      session.isReplaying = eventCount > 0;
      const answer = await link.connection.request(method, reopenParams(core, link, record)).catch(ignoreAgentError);
      if (answer !== undefined) return opened(link, session, answer, how, eventCount);
    }
    return await replayed(core, link, session, eventCount);
  } catch (error) {
    link.sessions.remove(session);
    throw error;
  }
}

/**
 * Ignores an error that the agent answers, so that the caller tries the next way to restore the session. Throws the
 * error again if the agent requires a login, and throws every other failure.
 */
function ignoreAgentError(error: unknown): undefined {
  const isRefusal = error instanceof AgentError || error instanceof UnsupportedError;
  if (!isRefusal || error instanceof AuthenticationRequiredError) throw error;
}

async function replayed(core: Core, link: Link, session: OpenSession, eventCount: number): Promise<SessionProperties> {
  link.sessions.completeItems(session);
  session.isReplaying = false;
  await core.recorder.flush();
  const text = await replayText(core.store, session.record.id, core.options.replay);
  if (text === undefined && eventCount === 0) throw new NotFoundError("session", session.record.id);
  const { agentSessionId: _, sessionId: __, ...params } = reopenParams(core, link, session.record);
  const doneOpening = link.sessions.opening();
  try {
    const answer = await link.connection.request("session/new", params);
    const agentSessionId = textOf(objectOf(answer).sessionId);
    if (agentSessionId === undefined) throw new AgentError(0, "the agent returned no session id", answer);
    link.sessions.update(session, { agentSessionId });
    if (text !== undefined) session.replay = text;
    const { mode, model, metadata } = session.record;
    opened(link, session, answer, "replayed", eventCount);
    // The agent's new session starts with the agent's default settings.
    const kept = compact({ mode, model, permissionMode: textOf(metadata.permissionMode) });
    const warnings = await applySettings(link, session, kept);
    return openSession(session.record, session.settings, { openedBy: "replayed", warnings, eventCount });
  } finally {
    doneOpening();
  }
}

/** Forks a session. */
export async function forkSession(
  core: Core,
  link: Link,
  session: OpenSession,
  title: string | undefined,
): Promise<SessionProperties> {
  if (!link.info.abilities.fork) throw new UnsupportedError("forking sessions");
  const { directory, mcp, additionalDirectories, agent } = session.record;
  const metadata = compact({ ...session.record.metadata, title, requestedSessionId: undefined });
  const doneOpening = link.sessions.opening();
  try {
    const answer = await link.connection.request("session/fork", reopenParams(core, link, session.record));
    const kept = compact({ mcp, additionalDirectories });
    const copy = await addSession(core, link, answer, { agent, directory, metadata, how: "forked", ...kept });
    return openSession(copy.record, copy.settings, { openedBy: "forked", warnings: [], eventCount: 0 });
  } finally {
    doneOpening();
  }
}

function opened(
  link: Link,
  session: OpenSession,
  answer: unknown,
  how: "loaded" | "resumed" | "replayed",
  eventCount: number,
): SessionProperties {
  link.sessions.completeItems(session);
  session.isReplaying = false;
  session.settings = readSettings(answer);
  const { endedAt: _, cursor: __, turnId: ___, ...rest } = session.record;
  session.record = rest;
  link.sessions.update(session, compact({ model: session.settings.model, mode: session.settings.mode }));
  const origin = { source: "client" as const, synthetic: true, message: answer };
  link.sessions.emit(session, startedBody(session.record, how), origin);
  return openSession(session.record, session.settings, { openedBy: how, warnings: [], eventCount });
}

/** The record and event count of the session that is stored under this id. */
async function storedSession(core: Core, id: string) {
  await core.recorder.flush();
  return core.store.getSession(id);
}

async function recordFor(
  core: Core,
  link: Link,
  id: string,
  known: (StoredSession & { eventCount: number }) | undefined,
  options: LoadSessionOptions,
): Promise<StoredSession> {
  const { agent, serverId } = link.info;
  if (known && known.agent !== agent) {
    throw new SandboxAgentError(
      "agent_mismatch",
      `the session belongs to ${known.agent}, but this client is connected to ${agent}`,
    );
  }
  const { eventCount: _, ...record } = known ?? {
    id,
    agent,
    agentSessionId: id,
    directory: "",
    createdAt: now(),
    updatedAt: now(),
    metadata: { agent },
    eventCount: 0,
  };
  const directory =
    options.directory ??
    (record.directory || (await listedDirectory(link, record.agentSessionId)) || (await workspace(core)));
  const given = compact({ directory, mcp: options.mcp, process: link.process });
  return { ...record, serverId, ...given };
}

function reopenParams(core: Core, link: Link, record: StoredSession): JsonObject & { sessionId: string } {
  const { directory, mcp, additionalDirectories, metadata } = record;
  const given = compact({ mcp, additionalDirectories, metadata });
  const { params } = newSessionParams(record.agent, directory, given, mcpOptions(core, link));
  return { ...params, sessionId: record.agentSessionId };
}

function mcpOptions(core: Core, link: Link): McpOptions {
  const { mcpHttp, mcpSse } = link.info.abilities;
  const environment = (globalThis as { process?: { env: Record<string, string | undefined> } }).process?.env;
  return { env: core.options.env ?? environment ?? {}, abilities: { http: mcpHttp, sse: mcpSse } };
}

/** The server's workspace, for sessions without a directory. */
async function workspace(core: Core): Promise<string> {
  const { path } = await core.files.stat(".");
  return path;
}
