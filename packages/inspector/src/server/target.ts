/**
 * The inspected server and its token. The token is read from the URL fragment, which is not sent to servers or logged,
 * and stored for this tab only. It is never put into a query.
 */

/** A server and its token. */
export interface Target {
  /** Its base URL, with a trailing slash. */
  readonly base: string;
  readonly token: string | undefined;
}

const TOKEN_KEY = "sandbox-agent.token";
const BASE_KEY = "sandbox-agent.server";

/** The storage for targets: the browser's `sessionStorage`. */
export type TargetStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** The server of this page: `/ui/` is one level below it, behind any path prefix. */
export function ownServer(page: string): string {
  return new URL("..", page.replace(/[?#].*$/, "")).href;
}

/** Parses a server address as typed by the user. */
export function parseServer(text: string, page: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return ownServer(page);
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`;
  if (!URL.canParse(withScheme)) return undefined;
  const url = new URL(withScheme);
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  url.search = "";
  url.hash = "";
  // Users copy the address of the page or of an endpoint.
  url.pathname = url.pathname.replace(/\/(ui|v1(\/.*)?)?\/?$/, "/");
  return url.href;
}

/** Parses the fragment `#token=...&server=...`. Any other fragment is a route of the page. */
export function readFragment(fragment: string): { token?: string; server?: string } {
  const text = fragment.replace(/^#/, "");
  if (text.startsWith("/")) return {};
  const fields = new URLSearchParams(text);
  const [token, server] = [fields.get("token"), fields.get("server")];
  return { ...(token && { token }), ...(server && { server }) };
}

/** The initial target: from the fragment, else from this tab's storage, else the page's own server. */
export function initialTarget(page: string, keep: TargetStorage): Target {
  const { token, server } = readFragment(new URL(page).hash);
  const named = server === undefined ? undefined : parseServer(server, page);
  const kept = keep.getItem(BASE_KEY) ?? undefined;
  const base = named ?? kept ?? ownServer(page);
  // A stored token is used for the server that it was given for, and no other.
  const mayUseKept = named === undefined || named === (kept ?? ownServer(page));
  return { base, token: token ?? (mayUseKept ? (keep.getItem(TOKEN_KEY) ?? undefined) : undefined) };
}

/** Stores a target for the next load of this tab. */
export function storeTarget({ base, token }: Target, page: string, keep: TargetStorage): void {
  if (base === ownServer(page)) keep.removeItem(BASE_KEY);
  else keep.setItem(BASE_KEY, base);
  if (token) keep.setItem(TOKEN_KEY, token);
  else keep.removeItem(TOKEN_KEY);
}
