/** Converts a map of MCP servers to the list that `session/new` takes. Reports which servers are left out, and why. */

import { compact, isObject, type JsonObject, listOf, objectOf, textMapOf, textOf } from "../json.ts";

/** An MCP server that runs as a command in the sandbox. */
export interface LocalMcpServer {
  /** Says that the server is a command. Optional if `command` is given. */
  readonly type?: "local";
  /** The program, or the program and its arguments. */
  readonly command: string | readonly string[];
  /** Arguments, after those in `command`. */
  readonly args?: readonly string[];
  /** Environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  /** An alias of `env`. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The command's working directory. */
  readonly cwd?: string;
  /** `false` leaves the server out. */
  readonly enabled?: boolean;
  /** How long to wait for the server. */
  readonly timeoutMs?: number;
}

/** An MCP server that is reached over HTTP. */
export interface RemoteMcpServer {
  /** Says that the server has a URL. Optional if `url` is given. */
  readonly type?: "remote";
  /** The server's URL. */
  readonly url: string;
  /** The transport. Default: `http`. */
  readonly transport?: "http" | "sse";
  /** Headers that are sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The environment variable that holds the bearer token. */
  readonly bearerTokenEnvVar?: string;
  /** Headers whose values are in environment variables: a map from header name to variable name. */
  readonly envHeaders?: Readonly<Record<string, string>>;
  /** OAuth settings, passed to the agent as they are. */
  readonly oauth?: unknown;
  /** `false` leaves the server out. */
  readonly enabled?: boolean;
  /** How long to wait for the server. */
  readonly timeoutMs?: number;
}

/** An MCP server. */
export type McpServerConfig = LocalMcpServer | RemoteMcpServer;

/** MCP servers, keyed by name. */
export type McpServers = Readonly<Record<string, McpServerConfig>>;

/** The result of a conversion. */
export interface ConvertedMcp {
  /** The list for the session. */
  readonly servers: readonly JsonObject[];
  /** The servers that are left out, and why. */
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
}

/** The transports that the agent supports. */
export interface McpAbilities {
  /** HTTP. */
  readonly http?: boolean;
  /** Server-sent events. */
  readonly sse?: boolean;
}

/** Options for {@link mcpServersOf}. */
export interface McpOptions {
  /** Where `bearerTokenEnvVar` and `envHeaders` are looked up. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The transports that the agent supports. Default: all. */
  readonly abilities?: McpAbilities;
}

/** Converts a map of MCP servers. */
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

/** Returns the converted server, or the reason why it is left out. */
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
  if (abilities && abilities[type] !== true) return `the agent does not support MCP servers over ${type}`;
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

/** Adds the settings that the protocol has no field for, in `_meta`. */
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

/** True if a stored entry looks like an MCP server. */
export function isMcpServerConfig(value: unknown): value is McpServerConfig {
  return isObject(value) && (value.command !== undefined || typeof value.url === "string");
}
