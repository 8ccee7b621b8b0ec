/**
 * Which server is looked at, and with which token. The token is taken from the address' fragment, which no server and
 * no log sees, and kept for this tab alone. It is never put into a query.
 */

/** A server and the way in. */
export interface Target {
  /** Its address, with a slash at the end. */
  readonly base: string;
  readonly token: string | undefined;
}

const TOKEN_KEY = "sandbox-agent.token";
const BASE_KEY = "sandbox-agent.server";

/** What can be kept; the browser's `sessionStorage`. */
export type TargetStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** The server that serves this page: `/ui/` is one level below it, behind whatever prefix. */
export function ownServer(page: string): string {
  return new URL("..", page.replace(/[?#].*$/, "")).href;
}

/** An address as somebody types it, as a base. */
export function parseServer(text: string, page: string): string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return ownServer(page);
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`;
  if (!URL.canParse(withScheme)) return undefined;
  const url = new URL(withScheme);
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined;
  url.search = "";
  url.hash = "";
  // People copy the address of the page or of an endpoint.
  url.pathname = url.pathname.replace(/\/(ui|v1(\/.*)?)?\/?$/, "/");
  return url.href;
}

/** What the fragment says: `#token=...&server=...`. Anything else in it is a place in the page. */
export function readFragment(fragment: string): { token?: string; server?: string } {
  const text = fragment.replace(/^#/, "");
  if (text.startsWith("/")) return {};
  const fields = new URLSearchParams(text);
  const [token, server] = [fields.get("token"), fields.get("server")];
  return { ...(token && { token }), ...(server && { server }) };
}

/** The target to begin with: the fragment wins, then what this tab used last, then the page's own server. */
export function initialTarget(page: string, keep: TargetStorage): Target {
  const { token, server } = readFragment(new URL(page).hash);
  const named = server === undefined ? undefined : parseServer(server, page);
  const kept = keep.getItem(BASE_KEY) ?? undefined;
  const base = named ?? kept ?? ownServer(page);
  // A token that was kept belongs to the server it was given for, and to no other.
  const mayUseKept = named === undefined || named === (kept ?? ownServer(page));
  return { base, token: token ?? (mayUseKept ? (keep.getItem(TOKEN_KEY) ?? undefined) : undefined) };
}

/** Keeps a target for the next load of this tab. */
export function storeTarget({ base, token }: Target, page: string, keep: TargetStorage): void {
  if (base === ownServer(page)) keep.removeItem(BASE_KEY);
  else keep.setItem(BASE_KEY, base);
  if (token) keep.setItem(TOKEN_KEY, token);
  else keep.removeItem(TOKEN_KEY);
}
