/** The addresses that follow from one endpoint URL, and what the server's list says about it. */

import { numberOf } from "./follow.ts";
import { type Http, httpErrorOf } from "./http.ts";
import { parseObject } from "./json.ts";

/** One endpoint. */
export interface Endpoint {
  /** The id that the client chose: the last part of the path. */
  readonly serverId: string;
  /** For the first POST: the query as given, with the agent to start. */
  readonly bootstrapUrl: string;
  /** For everything else: without the agent, so that nothing is ever started by accident. */
  readonly url: string;
  /** The list of all instances. */
  readonly listUrl: string;
}

/** Reads an endpoint URL such as `http://host/v1/acp/my-id?agent=mock`. */
export function parseEndpoint(given: string | URL): Endpoint {
  // In a browser a path alone is enough.
  const base = (globalThis as { location?: { href: string } }).location?.href;
  const bootstrap = new URL(given, base);
  bootstrap.hash = "";
  const url = new URL(bootstrap);
  url.searchParams.delete("agent");
  const list = new URL(url);
  const cut = list.pathname.lastIndexOf("/");
  list.pathname = list.pathname.slice(0, cut);
  return {
    serverId: decodeURIComponent(url.pathname.slice(cut + 1)),
    bootstrapUrl: bootstrap.href,
    url: url.href,
    listUrl: list.href,
  };
}

/** Adds a query parameter. */
export function withQuery(url: string, name: string, value: string): string {
  const changed = new URL(url);
  changed.searchParams.append(name, value);
  return changed.href;
}

/** What the list says about one instance. */
export interface InstanceState {
  readonly isRunning: boolean;
  /** The number of its newest event; 0 when there is none. */
  readonly lastEvent: number;
  /** The events of the agent's requests that nobody has answered. */
  readonly awaiting: ReadonlySet<number>;
  readonly createdAtMs: number;
}

/**
 * Looks an instance up.
 *
 * @returns `"absent"` when there is none, `"unknown"` when the server does not tell.
 * @throws When the server cannot be reached or wants another token.
 */
export async function lookUp(
  http: Http,
  { listUrl, serverId }: Endpoint,
  signal: AbortSignal,
): Promise<InstanceState | "absent" | "unknown"> {
  const response = await http(listUrl, { method: "GET", headers: { Accept: "application/json" }, signal });
  if (response.status === 401 || response.status === 429 || response.status >= 500) throw await httpErrorOf(response);
  const text = await response.text();
  if (!response.ok) return "unknown";
  const servers = parseObject(text)?.servers;
  if (!Array.isArray(servers)) return "unknown";
  const found = (servers as ListedServer[]).find((server) => server.serverId === serverId);
  if (!found || found.status === "closing") return "absent";
  return {
    isRunning: found.status !== "exited",
    lastEvent: found.lastEventId ?? 0,
    awaiting: new Set(found.awaiting?.map(({ event }) => event)),
    createdAtMs: found.createdAtMs ?? 0,
  };
}

interface ListedServer {
  serverId: string;
  status?: string;
  lastEventId?: number;
  createdAtMs?: number;
  awaiting?: { event: number }[];
}

/** How much of an existing instance's past a client gets. */
export type Replay = "open" | "all" | "none";

/** Where a client begins to listen. */
export interface StartPosition {
  /** Whether there is a stream already; if not, the first POST makes one. */
  readonly isRunning: boolean;
  /** The URL of the stream. */
  readonly url: string;
  readonly lastEventId: string | undefined;
  /** Messages up to this number are the past: the user gets none of them but the open requests. */
  readonly past: number;
  /** Requests of the agent up to this number are answered, unless they are open. */
  readonly known: number;
  readonly open: ReadonlySet<number>;
  /** When the instance was made, in microseconds since 1970; infinite when it is not made yet. */
  readonly createdUs: number;
}

/** Decides where to begin. `resume` is a cursor of an earlier connection. */
export function startPosition(
  endpoint: Endpoint,
  state: InstanceState | "absent" | "unknown",
  replay: Replay,
  resume: string | undefined,
): StartPosition {
  const cursor = numberOf(resume);
  const fresh = {
    url: endpoint.url,
    lastEventId: resume,
    past: cursor,
    known: 0,
    open: new Set<number>(),
    createdUs: Number.POSITIVE_INFINITY,
  };
  if (state === "absent") return { ...fresh, isRunning: false };
  if (state === "unknown") {
    const fromNow = replay !== "all" && !resume;
    return { ...fresh, isRunning: true, url: fromNow ? withQuery(endpoint.url, "replay", "none") : endpoint.url };
  }
  const open = replay === "none" ? new Set<number>() : state.awaiting;
  const past = resume ? cursor : replay === "all" ? 0 : state.lastEvent;
  // To see an open request again, the reader starts in front of it and leaves out what is past.
  const start = Math.min(past, ...[...open].map((event) => event - 1));
  return {
    ...fresh,
    isRunning: state.isRunning,
    lastEventId: start > 0 ? String(start) : undefined,
    past,
    known: state.lastEvent,
    open,
    createdUs: state.createdAtMs * 1000,
  };
}
