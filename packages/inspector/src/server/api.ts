/**
 * The server's API, except for the messages to and from agents. Uses the SDK, which is loaded only when the page
 * connects to a server: the connect screen does not need it.
 */

import { type JsonObject, numberOf, textOf } from "acp-http-client/internal";
import type { FileEntry, AgentInfo as ListedAgent, SkillsConfig, StoredMcpServer } from "sandbox-agent";
import type { Target } from "./target.ts";

export type { FileEntry } from "sandbox-agent";

/** The progress of an install. */
export interface Install {
  readonly command: string;
  readonly state: string;
  readonly step: string | undefined;
  readonly detail: string | undefined;
  readonly elapsedMs: number | undefined;
  readonly error: string | undefined;
}

/** An agent in the server's list. */
export type AgentInfo = Omit<ListedAgent, "install"> & { readonly install: Install };

export type ConfigKind = "mcp" | "skills";

/** The API calls. */
export interface Api {
  health(): Promise<JsonObject>;
  agents(): Promise<readonly AgentInfo[]>;
  install(agent: string, reinstall?: "reinstall"): Promise<void>;
  workspace(): Promise<string>;
  list(path: string): Promise<readonly FileEntry[]>;
  read(path: string): Promise<{ readonly blob: Blob; readonly etag: string | undefined }>;
  write(path: string, content: Blob | string, etag?: string): Promise<void>;
  /** Makes an empty file. Fails if the file already exists. */
  makeFile(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  makeFolder(path: string): Promise<void>;
  move(from: string, to: string): Promise<void>;
  /** Reports changes below a folder until the signal is aborted. */
  watch(path: string, onChange: () => void, signal: AbortSignal): Promise<void>;
  /** Downloads a folder as a `tar.gz`. */
  pack(path: string): Promise<Blob>;
  configEntries(kind: ConfigKind, directory: string): Promise<Readonly<Record<string, unknown>>>;
  putConfig(kind: ConfigKind, directory: string, name: string, entry: unknown): Promise<void>;
  deleteConfig(kind: ConfigKind, directory: string, name: string): Promise<void>;
}

/** Makes the API of a server. */
export async function createApi({ base, token }: Target): Promise<Api> {
  await import("./zod-jitless.ts");
  const { SandboxAgentClient } = await import("sandbox-agent");
  const client = new SandboxAgentClient({ baseUrl: base, autoConnect: false, ...(token !== undefined && { token }) });
  const { agents, files, mcpConfig, skillsConfig } = client;
  const configOf = (kind: ConfigKind): typeof mcpConfig | typeof skillsConfig =>
    kind === "mcp" ? mcpConfig : skillsConfig;
  return {
    health: async () => ({ ...(await client.health()) }),
    agents: async () => (await agents.list()).map((agent) => ({ ...agent, install: installOf(agent.install) })),
    install: async (agent, reinstall) => void (await agents.install(agent, { reinstall: reinstall === "reinstall" })),
    workspace: async () => (await files.stat(".")).path,
    list: (path) => files.list(path),
    async read(path) {
      const { body, etag } = await files.open(path);
      return { blob: await new Response(body).blob(), etag };
    },
    write: async (path, content, etag) =>
      void (await files.write(path, content, etag === undefined ? {} : { ifMatch: etag })),
    makeFile: async (path) => void (await files.write(path, "", { ifAbsent: true })),
    remove: (path) => files.delete(path, { recursive: true }),
    makeFolder: (path) => files.mkdir(path),
    move: (from, to) => files.move(from, to),
    async watch(path, onChange, signal) {
      for await (const _ of files.watch(path, { recursive: true, signal })) onChange();
    },
    pack: async (path) => new Response(await files.download(path, "tar.gz")).blob(),
    configEntries: (kind, directory) => configOf(kind).list(directory),
    // The entry needs no check here: the server validates it, and its error names the invalid field.
    putConfig: (kind, directory, name, entry) =>
      kind === "mcp"
        ? mcpConfig.set(directory, name, entry as StoredMcpServer)
        : skillsConfig.set(directory, name, entry as SkillsConfig),
    deleteConfig: (kind, directory, name) => configOf(kind).delete(directory, name),
  };
}

function installOf(status: JsonObject = {}): Install {
  return {
    command: textOf(status.command) ?? "",
    state: textOf(status.state) ?? "not_installed",
    step: textOf(status.step),
    detail: textOf(status.detail),
    elapsedMs: numberOf(status.elapsedMs),
    error: textOf(status.error),
  };
}
