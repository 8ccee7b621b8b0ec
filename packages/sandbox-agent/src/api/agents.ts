/** Lists and installs the server's agents. */

import type { Choice, ConfigOption } from "../convert/settings.ts";
import { readSettings } from "../convert/settings.ts";
import type { Http } from "../http.ts";
import type { Schema } from "./document.ts";

/** An agent of the server. Models, modes and options are converted from what the agent reports. */
export interface AgentInfo extends Omit<Schema<"AgentInfo">, "models" | "modes" | "configOptions"> {
  /** The agent's models; empty unless it is installed and `config` was requested. */
  readonly models: readonly Choice[];
  /** The agent's modes; empty unless it is installed and `config` was requested. */
  readonly modes: readonly Choice[];
  /** The agent's options; empty unless it is installed and `config` was requested. */
  readonly options: readonly ConfigOption[];
}

/** Options for an install. */
export interface InstallOptions {
  /** True to install the agent even if it is installed already. */
  readonly reinstall?: boolean;
  /** The version of the agent itself. */
  readonly agentVersion?: string;
  /** The version of the program between the agent and the server, for an agent that does not speak to it directly. */
  readonly agentProcessVersion?: string;
  /** Stops waiting; the install itself continues. */
  readonly signal?: AbortSignal;
}

/** The result of an install. */
export interface InstallResult {
  /** True if everything was installed already. */
  readonly alreadyInstalled: boolean;
  /** What is installed now. */
  readonly artifacts: readonly Schema<"InstallArtifact">[];
}

/** The server's agents. */
export interface Agents {
  /** Lists all agents. `config` also queries the installed ones for their models and modes. */
  list(options?: { readonly config?: boolean }): Promise<readonly AgentInfo[]>;
  /** Looks up one agent. `config` also queries it for its models and modes. */
  get(agent: string, options?: { readonly config?: boolean }): Promise<AgentInfo>;
  /** Installs an agent. Succeeds if it is installed already. */
  install(agent: string, options?: InstallOptions): Promise<InstallResult>;
}

/** Makes the API of a server's agents. */
export function createAgents(http: Http): Agents {
  const pathOf = (agent: string) => `/v1/agents/${encodeURIComponent(agent)}` as const;
  return {
    async list({ config } = {}) {
      const { agents } = await http.json<Schema<"AgentList">>("/v1/agents", { query: { config } });
      return agents.map(agentOf);
    },
    async get(agent, { config } = {}) {
      return agentOf(await http.json<Schema<"AgentInfo">>(pathOf(agent), { query: { config } }));
    },
    async install(agent, { signal, ...options } = {}) {
      const json: Partial<Schema<"InstallRequest">> = options;
      const answer = await http.json<Schema<"InstallOutcome">>(`${pathOf(agent)}/install`, {
        method: "POST",
        json,
        signal,
      });
      return { alreadyInstalled: answer.already_installed, artifacts: answer.artifacts };
    },
  };
}

function agentOf({ models, modes, configOptions, ...rest }: Schema<"AgentInfo">): AgentInfo {
  // The server reports the models as the config option with which a model is chosen.
  const options = configOptions ?? (models ? [models] : []);
  const settings = readSettings({ configOptions: options, modes });
  return {
    ...rest,
    models: settings.models,
    modes: settings.modes,
    options: settings.options,
  };
}
