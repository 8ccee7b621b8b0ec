/** Lists sessions: those in the client's store, merged with those that the agent lists. */

import { readMetadata } from "../convert/meta.ts";
import { AgentError, NotFoundError, SandboxAgentError, UnsupportedError } from "../errors.ts";
import { compact, type JsonObject, listOf, objectOf, textOf } from "../json.ts";
import { type SessionInfo, sessionInfo } from "../session.ts";
import type { StoredEvent, StoredSession } from "../store/types.ts";
import type { Core } from "./core.ts";
import type { Link } from "./link.ts";

/** Which part of a session's history to read. */
export interface HistoryRange {
  /** The sequence number after which to start. */
  readonly after?: number;
  /** How many events to read at most. Default: 1,000. */
  readonly limit?: number;
}

/** A part of a session's history. */
export interface History {
  /** The events, oldest first. */
  readonly events: readonly StoredEvent[];
  /** The sequence number to pass as `after` next time; unchanged if there are no new events. */
  readonly next: number;
}

/** The most pages to read of an agent's list, which a faulty agent might never end. */
const MAX_PAGES = 1000;

/** Lists all sessions: the stored ones, and those that only the agent knows. */
export async function listSessions(core: Core, link: Link | undefined): Promise<readonly SessionInfo[]> {
  await core.recorder.flush();
  const stored: SessionInfo[] = [];
  let cursor: string | undefined;
  do {
    const page = await core.store.listSessions({ limit: 500, ...(cursor !== undefined && { cursor }) });
    stored.push(...page.items.map((session) => sessionInfo(session, session.eventCount)));
    cursor = page.next;
  } while (cursor !== undefined);
  if (!link?.info.abilities.list) return stored;
  const fromAgent = await agentSessions(link);
  const { agent } = link.info;
  const merged = stored.map((session) => {
    const listed = session.agent === agent ? fromAgent.get(session.agentSessionId) : undefined;
    if (!listed) return session;
    fromAgent.delete(session.agentSessionId);
    const title = session.title ?? textOf(listed.title);
    // Only the agent knows the directory of a session that another client has opened.
    const directory = session.directory || (textOf(listed.cwd) ?? "");
    const knownTo = ["client" as const, "agent" as const];
    return { ...session, directory, ...(title !== undefined && { title }), knownTo };
  });
  return [...merged, ...[...fromAgent.values()].map((listed) => foreignSession(agent, listed))];
}

/**
 * The directory of a session, if the agent lists it. For a session that another client has opened, this is the only way
 * to learn it.
 */
export async function listedDirectory(link: Link, agentSessionId: string): Promise<string | undefined> {
  if (!link.info.abilities.list) return undefined;
  try {
    return textOf((await agentSessions(link)).get(agentSessionId)?.cwd) || undefined;
  } catch (error) {
    // An agent that cannot list its sessions now may still be able to open this one.
    if (error instanceof AgentError || error instanceof UnsupportedError) return undefined;
    throw error;
  }
}

async function agentSessions(link: Link): Promise<Map<string, JsonObject>> {
  const found = new Map<string, JsonObject>();
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = objectOf(await link.connection.request("session/list", cursor === undefined ? {} : { cursor }));
    for (const listed of listOf(answer.sessions).map(objectOf)) {
      const id = textOf(listed.sessionId);
      if (id !== undefined) found.set(id, listed);
    }
    cursor = textOf(answer.nextCursor);
    if (cursor === undefined) break;
  }
  return found;
}

function foreignSession(agent: string, listed: JsonObject): SessionInfo {
  const metadata = readMetadata(listed);
  const id = textOf(listed.sessionId) ?? "";
  return compact({
    id,
    agent: metadata.agent ?? agent,
    agentSessionId: id,
    directory: textOf(listed.cwd) ?? "",
    title: textOf(listed.title) ?? metadata.title,
    createdAt: textOf(metadata.createdAt),
    updatedAt: textOf(listed.updatedAt) ?? textOf(metadata.updatedAt),
    ended: metadata.ended === true,
    eventCount: typeof metadata.eventCount === "number" ? metadata.eventCount : 0,
    model: metadata.model,
    mode: metadata.mode,
    metadata,
    knownTo: ["agent" as const],
  });
}

/** Reads a range of a session's history from the store. */
export async function history(
  core: Core,
  sessionId: string,
  { after = 0, limit = 1000 }: HistoryRange,
): Promise<History> {
  await core.recorder.flush();
  if (!(await core.store.getSession(sessionId))) throw new NotFoundError("session", sessionId);
  const events = await core.store.listEvents(sessionId, { after, limit });
  return { events, next: events.at(-1)?.sequence ?? after };
}

/** Changes the metadata of a session; `null` deletes a key. Title, model and mode also change the session's record. */
export async function setMetadata(
  core: Core,
  link: Link | undefined,
  id: string,
  changes: JsonObject,
): Promise<SessionInfo> {
  await core.recorder.flush();
  const session = link?.sessions.find(id);
  const stored = await core.store.getSession(session?.record.id ?? id);
  if (!stored) throw new NotFoundError("session", id);
  if ("agent" in changes || "requestedSessionId" in changes) {
    throw new SandboxAgentError("fixed", "a session's agent and id cannot be changed");
  }
  const { eventCount, ...record } = stored;
  const next = withChanges(session?.record ?? record, changes);
  if (session && link) {
    session.record = next;
    link.sessions.update(session, {});
    await core.recorder.flush();
    return sessionInfo(session.record, eventCount);
  }
  await core.store.putSession(next);
  return sessionInfo(next, eventCount);
}

function withChanges(record: StoredSession, changes: JsonObject): StoredSession {
  const kept = Object.entries({ ...record.metadata, ...changes }).filter(([, value]) => value !== null);
  const hints = { title: record.title, model: record.model, mode: record.mode };
  for (const key of ["title", "model", "mode"] as const) {
    if (key in changes) hints[key] = textOf(changes[key]);
  }
  const { title: _, model: __, mode: ___, ...rest } = record;
  return { ...rest, ...compact(hints), metadata: Object.fromEntries(kept) };
}
