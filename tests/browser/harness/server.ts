/** Runs the server under test in a temporary folder. Also acts as a second client, in addition to the browser. */

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Program, startProgram } from "../../../packages/testing/program.ts";

export { BINARY } from "../../../packages/testing/program.ts";

export interface Server {
  readonly base: string;
  readonly workspace: string;
  /** Sends a client request to an agent. Resolves with the response. */
  request(serverId: string, method: string, params: object): Promise<Record<string, unknown>>;
  /** Sends a message that has no response. */
  send(serverId: string, message: object): Promise<void>;
  /** The server's list of instances. */
  instances(): Promise<readonly ListedInstance[]>;
  /** Kills the server and starts another one in the same folder, at the same address. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface ListedInstance {
  readonly serverId: string;
  readonly status: string;
  readonly awaiting: readonly { readonly id: unknown }[];
  readonly pendingRequests: number;
  readonly lastEventId: number;
}

export interface ServerOptions {
  readonly token?: string;
  /** The origin of another server's page that may use this one. */
  readonly allowedOrigin?: string;
  /** The URL of the agent registry. */
  readonly registry?: string;
  /** Additional command line flags. */
  readonly flags?: readonly string[];
}

export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), "inspector-"));
  const workspace = join(folder, "workspace");
  await mkdir(workspace);
  const { SANDBOX_AGENT_TOKEN: _, ...clean } = process.env;
  // The registry is empty, so that no test contacts the public one.
  const empty = join(folder, "registry.json");
  await writeFile(empty, JSON.stringify({ version: "1", agents: [] }));
  const folders = ["--data-dir", join(folder, "data"), "--workspace", workspace];
  const allowed = options.allowedOrigin === undefined ? [] : ["--cors-allow-origin", options.allowedOrigin];
  const start = (port: string): Promise<Program> =>
    startProgram({
      args: ["server", "--port", port, ...folders, ...allowed, ...(options.flags ?? [])],
      env: {
        ...clean,
        ...(options.token && { SANDBOX_AGENT_TOKEN: options.token }),
        SANDBOX_AGENT_ACP_REGISTRY_URL: options.registry ?? pathToFileURL(empty).href,
      },
    });
  let program = await start("0");
  const base = program.url;
  const headers = {
    "Content-Type": "application/json",
    ...(options.token && { Authorization: `Bearer ${options.token}` }),
  };
  const post = async (serverId: string, message: object): Promise<Response> => {
    const url = `${base}/v1/acp/${serverId}?agent=mock`;
    const response = await fetch(url, {
      method: "POST",
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response;
  };
  let requests = 0;
  return {
    base,
    workspace,
    async request(serverId, method, params) {
      requests += 1;
      const response = await post(serverId, { id: `other-${requests}`, method, params });
      return (await response.json()) as Record<string, unknown>;
    },
    send: async (serverId, message) => void (await post(serverId, message)),
    async instances() {
      const response = await fetch(`${base}/v1/acp`, { headers });
      return ((await response.json()) as { servers: ListedInstance[] }).servers;
    },
    async restart() {
      await program.stop("SIGKILL");
      program = await start(new URL(base).port);
    },
    async stop() {
      await program.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts an instance as another client would, and opens a session. */
export async function startSession(server: Server, serverId: string, more: object = {}): Promise<string> {
  const clientCapabilities = { elicitation: { form: {} }, ...more };
  await server.request(serverId, "initialize", { protocolVersion: 1, clientCapabilities });
  const answer = await server.request(serverId, "session/new", { cwd: server.workspace, mcpServers: [] });
  return (answer.result as { sessionId: string }).sessionId;
}

/** Sends a prompt as another client would. */
export function sendPrompt(server: Server, serverId: string, sessionId: string, text: string): Promise<unknown> {
  return server.request(serverId, "session/prompt", { sessionId, prompt: [{ type: "text", text }] });
}
