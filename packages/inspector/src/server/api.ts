/**
 * The rest of the server's API, as the page needs it. Plain calls; the journal has everything about instances.
 */

import { type Http, json } from "./http.ts";

/** An agent as the server lists it. */
export interface AgentInfo {
  readonly id: string;
  readonly name: string;
  readonly installed: boolean;
  readonly version?: string;
  readonly source?: string;
  readonly verified?: string;
  readonly path?: string;
  readonly nonRegistry?: boolean;
  readonly credentialsAvailable: boolean;
  readonly capabilities: Readonly<Record<string, boolean>>;
  readonly serverStatus?: { readonly status: string; readonly uptimeMs?: number };
  readonly install: {
    readonly command: string;
    readonly state: string;
    readonly step?: string;
    readonly detail?: string;
    readonly elapsedMs?: number;
    readonly error?: string;
  };
}

/** One line of a folder. */
export interface FileEntry {
  readonly name: string;
  readonly path: string;
  readonly entryType: "file" | "directory" | "symlink" | "other";
  readonly size: number;
  readonly modified: string;
}

export type ConfigKind = "mcp" | "skills";

/** The calls. */
export interface Api {
  health(): Promise<Readonly<Record<string, unknown>>>;
  agents(): Promise<readonly AgentInfo[]>;
  install(agent: string, reinstall?: "reinstall"): Promise<void>;
  workspace(): Promise<string>;
  list(path: string): Promise<readonly FileEntry[]>;
  read(path: string): Promise<{ readonly blob: Blob; readonly etag: string | undefined }>;
  write(path: string, content: Blob | string, etag?: string): Promise<void>;
  remove(path: string): Promise<void>;
  makeFolder(path: string): Promise<void>;
  move(from: string, to: string): Promise<void>;
  configEntries(kind: ConfigKind, directory: string): Promise<Readonly<Record<string, unknown>>>;
  putConfig(kind: ConfigKind, directory: string, name: string, entry: unknown): Promise<void>;
  deleteConfig(kind: ConfigKind, directory: string, name: string): Promise<void>;
}

const NAMES = { mcp: "mcpName", skills: "skillName" } as const;

/** Binds the calls to a server. */
export function createApi(http: Http): Api {
  const done = async (call: Promise<Response>): Promise<void> => void (await call);
  return {
    health: () => json(http, "v1/health"),
    agents: async () => (await json<{ agents: AgentInfo[] }>(http, "v1/agents")).agents,
    install: (agent, reinstall) =>
      done(
        http(`v1/agents/${encodeURIComponent(agent)}/install`, {
          method: "POST",
          json: { reinstall: reinstall === "reinstall" },
        }),
      ),
    workspace: async () => (await json<{ path: string }>(http, "v1/fs/stat", { query: { path: "." } })).path,
    list: (path) => listAll(http, path),
    async read(path) {
      const response = await http("v1/fs/file", { query: { path } });
      return { blob: await response.blob(), etag: response.headers.get("etag") ?? undefined };
    },
    write: (path, content, etag) =>
      done(
        http("v1/fs/file", {
          method: "PUT",
          query: { path },
          headers: { "Content-Type": "application/octet-stream", ...(etag !== undefined && { "If-Match": etag }) },
          body: content,
        }),
      ),
    remove: (path) => done(http("v1/fs/entry", { method: "DELETE", query: { path, recursive: "true" } })),
    makeFolder: (path) => done(http("v1/fs/mkdir", { method: "POST", query: { path } })),
    move: (from, to) => done(http("v1/fs/move", { method: "POST", json: { from, to } })),
    configEntries: async (kind, directory) =>
      (await json<{ entries: Record<string, unknown> }>(http, `v1/config/${kind}/entries`, { query: { directory } }))
        .entries,
    putConfig: (kind, directory, name, entry) =>
      done(http(`v1/config/${kind}`, { method: "PUT", query: { directory, [NAMES[kind]]: name }, json: entry })),
    deleteConfig: (kind, directory, name) =>
      done(http(`v1/config/${kind}`, { method: "DELETE", query: { directory, [NAMES[kind]]: name } })),
  };
}

/** A folder page by page. */
async function listAll(http: Http, path: string): Promise<readonly FileEntry[]> {
  const entries: FileEntry[] = [];
  let query: Record<string, string> | undefined = { path };
  while (query) {
    const response: Response = await http("v1/fs/entries", { query });
    entries.push(...((await response.json()) as FileEntry[]));
    const next: string | undefined = /<([^>]+)>\s*;\s*rel="?next"?/i.exec(response.headers.get("link") ?? "")?.[1];
    query = next === undefined ? undefined : Object.fromEntries(new URL(next, "http://server/").searchParams);
  }
  return entries;
}
