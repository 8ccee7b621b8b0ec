/** The URLs that are derived from one endpoint URL, and the state of its instance in the server's list. */

import { numberOf } from "./follow.ts";
import { type Http, httpErrorOf } from "./http.ts";
import { parseObject } from "./json.ts";

/** The URLs of one endpoint. */
export interface Endpoint {
  /** The instance's id, chosen by the client: the last path segment. */
  readonly serverId: string;
  /** The URL of the first POST: the query as given, including the agent to start. */
  readonly bootstrapUrl: string;
  /** The URL of every other request. It does not name the agent, so it never starts one. */
  readonly url: string;
  /** The URL of the list of all instances. */
  readonly listUrl: string;
}

/** Parses an endpoint URL such as `http://host/v1/acp/my-id?agent=mock`. */
export function parseEndpoint(given: string | URL): Endpoint {
  // In a browser, the URL may be a path.
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

/** The state of an instance in the server's list. */
export interface InstanceState {
  readonly isRunning: boolean;
  /** The number of the instance's newest event; 0 if there is none. */
  readonly lastEvent: number;
  /** The event numbers of the agent requests that are unanswered. */
  readonly awaiting: ReadonlySet<number>;
  readonly createdAtMs: number;
}

/**
 * Looks up an instance in the server's list.
 *
 * @returns `"absent"` if there is no such instance, `"unknown"` if the server does not offer the list.
 * @throws AcpHttpError when the server rejects the token or is temporarily unavailable.
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

/** Which earlier events a client receives when it connects. */
export type Replay = "open" | "all" | "none";

/** Where a client starts to read the event stream. */
export interface StartPosition {
  /** True if the event stream exists. If not, the first POST creates it. */
  readonly isRunning: boolean;
  /** The URL of the stream. */
  readonly url: string;
  readonly lastEventId: string | undefined;
  /** Messages up to this number are in the past: only unanswered agent requests among them are delivered. */
  readonly past: number;
  /** Agent requests up to this number are answered, unless they are in `open`. */
  readonly known: number;
  readonly open: ReadonlySet<number>;
  /** When the instance was created, in microseconds since the Unix epoch; infinite if it does not exist yet. */
  readonly createdUs: number;
}

/** Decides where to start to read. `resume` is the cursor of an earlier connection. */
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
  // To receive an unanswered request again, the reader starts before it and skips the other old events.
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
