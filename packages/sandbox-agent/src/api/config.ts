/** The configuration that the server stores for a directory: MCP servers and skills. The server does not apply it. */

import { HttpError } from "../errors.ts";
import type { Http } from "../http.ts";
import type { QueryOf, Schema } from "./document.ts";

/** Where skills come from. */
export type SkillSource = Schema<"SkillSource">;

/** A set of skills. */
export type SkillsConfig = Schema<"SkillsConfig">;

/** A stored MCP server. */
export type StoredMcpServer = Schema<"McpConfig">;

/** Reads and writes entries of one kind. Each entry belongs to a directory and has a name. */
export interface ConfigEntries<T> {
  /** Reads an entry; `undefined` if there is none. */
  get(directory: string, name: string): Promise<T | undefined>;
  /** Stores an entry, replacing an earlier one. */
  set(directory: string, name: string, entry: T): Promise<void>;
  /** Deletes an entry. Succeeds if there is none. */
  delete(directory: string, name: string): Promise<void>;
  /** Returns all entries of a directory, keyed by name. */
  list(directory: string): Promise<Readonly<Record<string, T>>>;
}

/** Makes the API of stored MCP servers. */
export function createMcpConfig(http: Http): ConfigEntries<StoredMcpServer> {
  const query = (directory: string, mcpName: string): QueryOf<"getMcpConfig"> => ({ directory, mcpName });
  return createEntries(http, "/v1/config/mcp", query);
}

/** Makes the API of stored skills. */
export function createSkillsConfig(http: Http): ConfigEntries<SkillsConfig> {
  const query = (directory: string, skillName: string): QueryOf<"getSkillsConfig"> => ({ directory, skillName });
  return createEntries(http, "/v1/config/skills", query);
}

function createEntries<T>(
  http: Http,
  path: "/v1/config/mcp" | "/v1/config/skills",
  queryOf: (directory: string, name: string) => QueryOf<"getMcpConfig"> | QueryOf<"getSkillsConfig">,
): ConfigEntries<T> {
  return {
    async get(directory, name) {
      try {
        return await http.json<T>(path, { query: queryOf(directory, name) });
      } catch (error) {
        if (error instanceof HttpError && error.code === "config_not_found") return undefined;
        throw error;
      }
    },
    async set(directory, name, entry) {
      await http.request(path, { method: "PUT", query: queryOf(directory, name), json: entry });
    },
    async delete(directory, name) {
      await http.request(path, { method: "DELETE", query: queryOf(directory, name) });
    },
    async list(directory) {
      const { entries } = await http.json<{ entries: Record<string, T> }>(`${path}/entries`, { query: { directory } });
      return entries;
    },
  };
}
