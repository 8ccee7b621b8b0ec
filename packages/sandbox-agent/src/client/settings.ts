/** Changing a session's settings: the best request first, the older one where the agent does not know it. */

import {
  type Choice,
  readOptions,
  type SettingRequest,
  setModelRequests,
  setModeRequests,
  setOptionRequest,
  setPermissionModeRequest,
  withMode,
  withModel,
  withOptions,
} from "../convert/settings.ts";
import { AgentError, type SandboxAgentError, UnsupportedError } from "../errors.ts";
import { compact, objectOf } from "../json.ts";
import type { Link } from "./link.ts";
import type { Live } from "./live.ts";

/** The models of a session. */
export interface ModelList {
  /** All of them. */
  readonly models: readonly Choice[];
  /** The one in use. */
  readonly currentModelId?: string;
}

/** Sets the mode. */
export async function setMode(link: Link, live: Live, mode: string): Promise<void> {
  await firstOf(link, live, setModeRequests(live.record.agentSessionId, live.settings, mode));
  live.settings = withMode(live.settings, mode);
  link.sessions.update(live, { mode });
}

/** Sets the model. */
export async function setModel(link: Link, live: Live, model: string): Promise<void> {
  await firstOf(link, live, setModelRequests(live.record.agentSessionId, live.settings, model));
  live.settings = withModel(live.settings, model);
  link.sessions.update(live, { model });
}

/** Sets one option. */
export async function setOption(link: Link, live: Live, configId: string, value: string | boolean): Promise<void> {
  await firstOf(link, live, [setOptionRequest(live.record.agentSessionId, configId, value)]);
  link.sessions.update(live, compact({ mode: live.settings.mode, model: live.settings.model }));
}

/** Sets how permissions are handled, where the agent has an option for it. */
export async function setPermissionMode(link: Link, live: Live, permissionMode: string): Promise<void> {
  const request = setPermissionModeRequest(live.record.agentSessionId, live.settings, permissionMode);
  if (!request) throw new UnsupportedError("an option for permissions");
  await firstOf(link, live, [request]);
}

/** Sends requests until one is taken. The agent's answer to the best one is what the caller hears. */
async function firstOf(link: Link, live: Live, requests: readonly SettingRequest[]): Promise<void> {
  let refusal: SandboxAgentError | undefined;
  for (const { method, params } of requests) {
    try {
      const { configOptions } = objectOf(await link.wire.request(method, params));
      if (Array.isArray(configOptions)) live.settings = withOptions(live.settings, readOptions(configOptions));
      return;
    } catch (error) {
      if (!(error instanceof AgentError) && !(error instanceof UnsupportedError)) throw error;
      refusal ??= error;
    }
  }
  throw refusal ?? new UnsupportedError("this setting");
}
