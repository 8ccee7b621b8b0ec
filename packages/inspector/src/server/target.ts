/**
 * The inspected server and its token. The token is read from the URL fragment, which browsers do not send to servers,
 * and stored only for this tab. It is never put into a query, where servers would log it.
 */

/** A server and its token. */
export interface Target {
  /** The server's base URL, with a trailing slash. */
  readonly base: string;
  readonly token: string | undefined;
}

const TOKEN_KEY = "sandbox-agent.token";
const BASE_KEY = "sandbox-agent.server";

/** Where a target is stored: the browser's `sessionStorage`. */
export type TargetStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** The base URL of the server that has sent this page. The page is at `/ui/` below it, even behind a path prefix. */
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
  // Users may paste the address of the inspector's page or of an endpoint.
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

/** The target to start with: from the fragment, else from this tab's storage, else the server that sent the page. */
export function initialTarget(page: string, keep: TargetStorage): Target {
  const { token, server } = readFragment(new URL(page).hash);
  const named = server === undefined ? undefined : parseServer(server, page);
  const kept = keep.getItem(BASE_KEY) ?? undefined;
  const base = named ?? kept ?? ownServer(page);
  // A stored token is only used for the server that the user gave it for.
  const mayUseKept = named === undefined || named === (kept ?? ownServer(page));
  return { base, token: token ?? (mayUseKept ? (keep.getItem(TOKEN_KEY) ?? undefined) : undefined) };
}

/** Stores a target, for when this tab is reloaded. */
export function storeTarget({ base, token }: Target, page: string, keep: TargetStorage): void {
  if (base === ownServer(page)) keep.removeItem(BASE_KEY);
  else keep.setItem(BASE_KEY, base);
  if (token) keep.setItem(TOKEN_KEY, token);
  else keep.removeItem(TOKEN_KEY);
}
