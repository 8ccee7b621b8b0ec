/** Which agents the server has, and installing them. */

import type { Choice, ConfigOption } from "../convert/settings.ts";
import { readSettings } from "../convert/settings.ts";
import type { Http } from "../http.ts";
import { isObject, type JsonObject } from "../json.ts";

/** An agent of the server. */
export interface AgentInfo {
  /** Names the agent. */
  readonly id: string;
  /** What to show. */
  readonly name: string;
  /** Whether it can be started at once. */
  readonly installed: boolean;
  /** Its version. */
  readonly version?: string;
  /** Where it is. */
  readonly path?: string;
  /** Where it comes from. */
  readonly source?: string;
  /** Whether the agent registry does not have it. */
  readonly nonRegistry?: boolean;
  /** Whether it has been seen to start: `ok`, `failed` or `needs_credentials`. */
  readonly verified?: string;
  /** Whether the credentials it looks for are there. */
  readonly credentialsAvailable: boolean;
  /** What it can do. */
  readonly capabilities: Readonly<Record<string, boolean>>;
  /** Its models; told when it is installed and was asked. */
  readonly models: readonly Choice[];
  /** Its modes; told when it is installed and was asked. */
  readonly modes: readonly Choice[];
  /** Its settings; told when it is installed and was asked. */
  readonly options: readonly ConfigOption[];
  /** Whether one is running, and for how long. */
  readonly serverStatus?: { readonly status: string; readonly uptimeMs?: number };
  /** How it is installed. */
  readonly install?: JsonObject;
}

/** Settings of an install. */
export interface InstallOptions {
  /** Install again what is there already. */
  readonly reinstall?: boolean;
  /** The version of the agent itself. */
  readonly agentVersion?: string;
  /** The version of the program that connects it. */
  readonly agentProcessVersion?: string;
  /** Stops waiting; the install itself goes on. */
  readonly signal?: AbortSignal;
}

/** What an install has done. */
export interface InstallResult {
  /** Whether everything was there already. */
  readonly alreadyInstalled: boolean;
  /** What is there now. */
  readonly artifacts: readonly {
    readonly kind: string;
    readonly path: string;
    readonly version?: string;
    readonly source: string;
  }[];
}

/** The server's agents. */
export interface Agents {
  /** All of them. `config` also asks the installed ones for their models and modes. */
  list(options?: { readonly config?: boolean }): Promise<readonly AgentInfo[]>;
  /** One of them. `config` also asks it for its models and modes. */
  get(agent: string, options?: { readonly config?: boolean }): Promise<AgentInfo>;
  /** Installs one. Fine when it is there already. */
  install(agent: string, options?: InstallOptions): Promise<InstallResult>;
}

/** The agents of one server. */
export function createAgents(http: Http): Agents {
  const pathOf = (agent: string): string => `/v1/agents/${encodeURIComponent(agent)}`;
  return {
    async list({ config } = {}) {
      const { agents } = await http.json<{ agents: JsonObject[] }>("/v1/agents", { query: { config } });
      return agents.map(agentOf);
    },
    async get(agent, { config } = {}) {
      return agentOf(await http.json<JsonObject>(pathOf(agent), { query: { config } }));
    },
    async install(agent, { signal, ...options } = {}) {
      const answer = await http.json<{ already_installed: boolean; artifacts: InstallResult["artifacts"] }>(
        `${pathOf(agent)}/install`,
        { method: "POST", json: options, signal },
      );
      return { alreadyInstalled: answer.already_installed, artifacts: answer.artifacts };
    },
  };
}

function agentOf(told: JsonObject): AgentInfo {
  const { models, modes, configOptions, ...rest } = told;
  // Models come as the setting that holds them.
  const options = Array.isArray(configOptions) ? configOptions : isObject(models) ? [models] : [];
  const settings = readSettings({ configOptions: options, modes });
  return {
    ...(rest as unknown as Omit<AgentInfo, "models" | "modes" | "options">),
    models: settings.models,
    modes: settings.modes,
    options: settings.options,
  };
}
