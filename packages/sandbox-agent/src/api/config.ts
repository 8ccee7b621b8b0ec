/** What the server keeps for a directory: tool servers and skills. It stores them and gives them to nobody. */

import type { McpServerConfig } from "../convert/mcp.ts";
import { HttpError } from "../errors.ts";
import type { Http } from "../http.ts";

/** Where skills come from. */
export interface SkillSource {
  /** What kind of place it is. */
  readonly type: "github" | "git" | "local";
  /** The place: a repository, a URL, or a path. */
  readonly source: string;
  /** The branch, tag or commit. */
  readonly ref?: string;
  /** The folder in it. */
  readonly subpath?: string;
  /** Only these skills. */
  readonly skills?: readonly string[];
}

/** A set of skills. */
export interface SkillsConfig {
  /** Where they come from. */
  readonly sources: readonly SkillSource[];
}

/** Named entries of directories. */
export interface ConfigEntries<T> {
  /** One entry; `undefined` when there is none. */
  get(directory: string, name: string): Promise<T | undefined>;
  /** Keeps an entry, in place of an earlier one. */
  set(directory: string, name: string, entry: T): Promise<void>;
  /** Forgets an entry. Fine when there is none. */
  delete(directory: string, name: string): Promise<void>;
  /** All entries of a directory, by name. */
  list(directory: string): Promise<Readonly<Record<string, T>>>;
}

/** Tool servers of directories. */
export function createMcpConfig(http: Http): ConfigEntries<McpServerConfig> {
  return createEntries(http, "/v1/config/mcp", "mcpName");
}

/** Skills of directories. */
export function createSkillsConfig(http: Http): ConfigEntries<SkillsConfig> {
  return createEntries(http, "/v1/config/skills", "skillName");
}

function createEntries<T>(http: Http, path: string, nameOf: string): ConfigEntries<T> {
  return {
    async get(directory, name) {
      try {
        return await http.json<T>(path, { query: { directory, [nameOf]: name } });
      } catch (error) {
        if (error instanceof HttpError && error.code === "config_not_found") return undefined;
        throw error;
      }
    },
    async set(directory, name, entry) {
      await http.request(path, { method: "PUT", query: { directory, [nameOf]: name }, json: entry });
    },
    async delete(directory, name) {
      await http.request(path, { method: "DELETE", query: { directory, [nameOf]: name } });
    },
    async list(directory) {
      const { entries } = await http.json<{ entries: Record<string, T> }>(`${path}/entries`, { query: { directory } });
      return entries;
    },
  };
}
