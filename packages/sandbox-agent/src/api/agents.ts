/** Which agents the server has, and installing them. */

import type { Choice, ConfigOption } from "../convert/settings.ts";
import { readSettings } from "../convert/settings.ts";
import type { Http } from "../http.ts";
import type { Schema } from "./document.ts";

/** An agent of the server, with what it offers read out of its own words. */
export interface AgentInfo extends Omit<Schema<"AgentInfo">, "models" | "modes" | "configOptions"> {
  /** Its models; told when it is installed and was asked. */
  readonly models: readonly Choice[];
  /** Its modes; told when it is installed and was asked. */
  readonly modes: readonly Choice[];
  /** Its settings; told when it is installed and was asked. */
  readonly options: readonly ConfigOption[];
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
  readonly artifacts: readonly Schema<"InstallArtifact">[];
}

/** The server's agents. */
export interface Agents {
  /** All of them. `config` also agentRequests the installed ones for their models and modes. */
  list(options?: { readonly config?: boolean }): Promise<readonly AgentInfo[]>;
  /** One of them. `config` also agentRequests it for its models and modes. */
  get(agent: string, options?: { readonly config?: boolean }): Promise<AgentInfo>;
  /** Installs one. Fine when it is there already. */
  install(agent: string, options?: InstallOptions): Promise<InstallResult>;
}

/** The agents of one server. */
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
  // Models come as the setting that holds them.
  const options = configOptions ?? (models ? [models] : []);
  const settings = readSettings({ configOptions: options, modes });
  return {
    ...rest,
    models: settings.models,
    modes: settings.modes,
    options: settings.options,
  };
}
