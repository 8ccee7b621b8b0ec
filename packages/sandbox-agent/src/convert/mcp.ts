/** A map of tool servers (MCP) as the list that a session takes. Decides what is dropped and says why. */

import { compact, isObject, type JsonObject, listOf, objectOf, textMapOf, textOf } from "../json.ts";

/** A tool server that is a command in the sandbox. */
export interface LocalMcpServer {
  /** Says that this is a command. May be left out where `command` is there. */
  readonly type?: "local";
  /** The program, or the program and its arguments. */
  readonly command: string | readonly string[];
  /** Arguments, behind those in `command`. */
  readonly args?: readonly string[];
  /** Environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another name for `env`. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Its working directory. */
  readonly cwd?: string;
  /** `false` leaves it out. */
  readonly enabled?: boolean;
  /** How long to wait for it. */
  readonly timeoutMs?: number;
}

/** A tool server that is reached by HTTP. */
export interface RemoteMcpServer {
  /** Says that this is a URL. May be left out where `url` is there. */
  readonly type?: "remote";
  /** Where it is. */
  readonly url: string;
  /** How it speaks; `http` unless told. */
  readonly transport?: "http" | "sse";
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The environment variable that holds the bearer token. */
  readonly bearerTokenEnvVar?: string;
  /** Headers whose values are in environment variables: header name to variable name. */
  readonly envHeaders?: Readonly<Record<string, string>>;
  /** Settings for signing in; kept for the agent in the server's `_meta`. */
  readonly oauth?: unknown;
  /** `false` leaves it out. */
  readonly enabled?: boolean;
  /** How long to wait for it. */
  readonly timeoutMs?: number;
}

/** A tool server. */
export type McpServerConfig = LocalMcpServer | RemoteMcpServer;

/** Tool servers by name. */
export type McpServers = Readonly<Record<string, McpServerConfig>>;

/** What became of a map of tool servers. */
export interface ConvertedMcp {
  /** The list for the session. */
  readonly servers: readonly JsonObject[];
  /** Those that are not in it, and why. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
}

/** What the agent can reach. */
export interface McpAbilities {
  /** Servers over HTTP. */
  readonly http?: boolean;
  /** Servers over server-sent events. */
  readonly sse?: boolean;
}

/** Settings for {@link mcpServersOf}. */
export interface McpOptions {
  /** Where `bearerTokenEnvVar` and `envHeaders` are looked up. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What the agent can reach; everything unless told. */
  readonly abilities?: McpAbilities;
}

/** Converts a map of tool servers. */
export function mcpServersOf(map: McpServers = {}, options: McpOptions = {}): ConvertedMcp {
  const servers: JsonObject[] = [];
  const skipped: { name: string; reason: string }[] = [];
  for (const [name, config] of Object.entries(map)) {
    const converted = convertOne(name, objectOf(config), options);
    if (typeof converted === "string") skipped.push({ name, reason: converted });
    else servers.push(converted);
  }
  return { servers, skipped };
}

/** One server, or why it is left out. */
function convertOne(name: string, config: JsonObject, options: McpOptions): JsonObject | string {
  if (config.enabled === false) return "it is not enabled";
  const isLocal = config.type === "local" || (config.type === undefined && config.command !== undefined);
  if (isLocal) return localServer(name, config);
  if (typeof config.url === "string") return remoteServer(name, config, options);
  return "it has neither a command nor a url";
}

function localServer(name: string, config: JsonObject): JsonObject | string {
  const line = typeof config.command === "string" ? [config.command] : texts(config.command);
  const [command, ...before] = line;
  if (command === undefined || command === "") return "its command is empty";
  const env = { ...textMapOf(config.environment), ...textMapOf(config.env) };
  return withKept(
    { name, command, args: [...before, ...texts(config.args)], env: pairs(env) },
    { cwd: config.cwd, timeoutMs: config.timeoutMs },
  );
}

function remoteServer(name: string, config: JsonObject, { env = {}, abilities }: McpOptions): JsonObject | string {
  const type = config.transport === "sse" ? "sse" : "http";
  if (abilities && abilities[type] !== true) return `the agent does not reach servers over ${type}`;
  const headers = { ...textMapOf(config.headers) };
  for (const [header, variable] of Object.entries(textMapOf(config.envHeaders))) {
    const value = env[variable];
    if (value === undefined) return `the environment variable ${variable} is not set`;
    headers[header] = value;
  }
  const variable = textOf(config.bearerTokenEnvVar);
  if (variable !== undefined) {
    const token = env[variable];
    if (token === undefined) return `the environment variable ${variable} is not set`;
    headers.Authorization = `Bearer ${token}`;
  }
  return withKept(
    { type, name, url: config.url, headers: pairs(headers) },
    { oauth: config.oauth, timeoutMs: config.timeoutMs },
  );
}

/** Settings that the protocol has no field for travel in `_meta`. */
function withKept(server: JsonObject, kept: JsonObject): JsonObject {
  const rest = compact(kept);
  return Object.keys(rest).length === 0 ? server : { ...server, _meta: { "sandboxagent.dev": rest } };
}

function pairs(map: Record<string, string>): { name: string; value: string }[] {
  return Object.entries(map).map(([name, value]) => ({ name, value }));
}

function texts(value: unknown): string[] {
  return listOf(value).filter((entry): entry is string => typeof entry === "string");
}

/** Whether a stored entry looks like a tool server. */
export function isMcpServerConfig(value: unknown): value is McpServerConfig {
  return isObject(value) && (value.command !== undefined || typeof value.url === "string");
}
