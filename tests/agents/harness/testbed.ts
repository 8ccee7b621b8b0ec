/** The testbed of one agent: a server without installed agents, a scripted model, clients, and a journal. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CuttingProxy, startCuttingProxy } from "../../../packages/sandbox-agent/src/testing/cutting-proxy.ts";
import type { Agent } from "../agents/agent.ts";
import { type Journal, openJournal } from "../wire/journal.ts";
import { type AgentEnvironment, prepare } from "./environment.ts";
import { type Model, startModel } from "./model.ts";
import { startProgram } from "./programs.ts";
import { SandboxAgentClient } from "./sdk.ts";
import { localTerminals } from "./terminals.ts";

const TOKEN = "agent-matrix";

/** Measurements of an agent. */
export interface Measurements {
  version?: string;
  installMs?: number;
  installBytes?: number;
  startMs?: number;
  memoryBytes?: number;
}

/** An instance in the server's list. */
export interface Instance {
  readonly serverId: string;
  readonly status: string;
  readonly pid?: number;
}

/** What a client offers to the agent. */
export type Offers = "nothing" | "files and terminals";

/** What every step receives. */
export interface Testbed {
  readonly agent: Agent;
  readonly environment: AgentEnvironment;
  readonly server: { readonly url: string; readonly token: string; readonly pid: number };
  readonly model: Model;
  /** The proxy between all clients and the server. */
  readonly proxy: CuttingProxy;
  readonly journal: Journal;
  readonly measurements: Measurements;
  /** The client that steps share. After a failed step, it is replaced by a client with a new instance. */
  client(): Promise<SandboxAgentClient>;
  /** Makes a client with its own instance. The client is not connected yet. */
  newClient(offers: Offers): SandboxAgentClient;
  /** Disposes of the shared client and its instance. */
  leave(): Promise<void>;
  instances(): Promise<readonly Instance[]>;
  close(): Promise<void>;
}

/** What to do with an agent's folders. If they are kept, the journal and the model's requests are saved in them. */
export type Cleanup = "remove" | "keep";

/** Sets up a testbed. */
export async function openTestbed(agent: Agent, cleanup: Cleanup): Promise<Testbed> {
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    while (closers.length > 0) await closers.pop()?.();
  };
  try {
    return await setUp(agent, cleanup, closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function setUp(
  agent: Agent,
  cleanup: Cleanup,
  closers: (() => unknown)[],
  close: () => Promise<void>,
): Promise<Testbed> {
  const model = await startModel();
  closers.push(model.stop);
  const recipe = await model.recipe(agent.id);
  if (!recipe && agent.hasRecipe !== false) throw new Error(`the model has no recipe for ${agent.id}`);
  const environment = await prepare(agent.id, recipe ?? { agent: agent.id, environment: [], files: [] });
  if (cleanup === "remove") closers.push(environment.remove);
  const { workspace, data, env, log } = environment;
  const args = ["server", "--port", "0", "--workspace", workspace, "--data-dir", data];
  const program = await startProgram({ args, env: { ...env, SANDBOX_AGENT_TOKEN: TOKEN }, directory: workspace, log });
  closers.push(program.stop);
  const server = { url: program.url, token: TOKEN, pid: program.pid };
  const proxy = await startCuttingProxy(server.url);
  closers.push(proxy.stop);
  const journal = openJournal(server);
  closers.push(journal.stop);
  if (cleanup === "keep") closers.push(() => save(environment.folder, journal, model));

  let count = 0;
  let shared: SandboxAgentClient | undefined;
  const newClient: Testbed["newClient"] = (offers) => {
    count += 1;
    return new SandboxAgentClient({
      baseUrl: proxy.baseUrl,
      token: TOKEN,
      agent: agent.id,
      serverId: `${agent.id}-${count}`,
      autoConnect: false,
      retry: { minMs: 5, maxMs: 100 },
      ...(offers === "files and terminals" && { files: true, terminals: localTerminals(env) }),
    });
  };
  const leave = async (): Promise<void> => {
    const before = shared;
    shared = undefined;
    await before?.dispose().catch(() => {});
  };
  closers.push(leave);
  return {
    agent,
    environment,
    server,
    model,
    proxy,
    journal,
    measurements: {},
    newClient,
    leave,
    close,
    async client() {
      if (shared?.status === "connected") return shared;
      await leave();
      shared = newClient(agent.asksForHostOnly ? "files and terminals" : "nothing");
      await shared.connect();
      return shared;
    },
    async instances() {
      const response = await fetch(`${server.url}/v1/acp`, { headers: { Authorization: `Bearer ${TOKEN}` } });
      return ((await response.json()) as { servers: readonly Instance[] }).servers;
    },
  };
}

async function save(folder: string, { entries }: Journal, model: Model): Promise<void> {
  const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`);
  await writeFile(join(folder, "journal.jsonl"), lines.join(""));
  await writeFile(join(folder, "model-requests.json"), JSON.stringify(await model.requests(), null, 1));
}

/** The absolute path of a file in the workspace. */
export function pathIn(testbed: Testbed, name: string): string {
  return join(testbed.environment.workspace, name);
}
