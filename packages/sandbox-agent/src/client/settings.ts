/** Changes a session's settings with the protocol's current request or, if the agent refuses it, with the older one. */

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
import type { OpenSession } from "./open-sessions.ts";

/** The models of a session. */
export interface ModelList {
  /** All models. */
  readonly models: readonly Choice[];
  /** The model in use. */
  readonly currentModelId?: string;
}

/** Sets the mode. */
export async function setMode(link: Link, session: OpenSession, mode: string): Promise<void> {
  await firstOf(link, session, setModeRequests(session.record.agentSessionId, session.settings, mode));
  session.settings = withMode(session.settings, mode);
  link.sessions.update(session, { mode });
}

/** Sets the model. */
export async function setModel(link: Link, session: OpenSession, model: string): Promise<void> {
  await firstOf(link, session, setModelRequests(session.record.agentSessionId, session.settings, model));
  session.settings = withModel(session.settings, model);
  link.sessions.update(session, { model });
}

/** Sets a config option. */
export async function setOption(
  link: Link,
  session: OpenSession,
  configId: string,
  value: string | boolean,
): Promise<void> {
  await firstOf(link, session, [setOptionRequest(session.record.agentSessionId, configId, value)]);
  link.sessions.update(session, compact({ mode: session.settings.mode, model: session.settings.model }));
}

/** Sets how permissions are handled, if the agent has an option for it. */
export async function setPermissionMode(link: Link, session: OpenSession, permissionMode: string): Promise<void> {
  const request = setPermissionModeRequest(session.record.agentSessionId, session.settings, permissionMode);
  if (!request) throw new UnsupportedError("an option for permissions");
  await firstOf(link, session, [request]);
}

/** Sends requests until one succeeds. If all fail, throws the error of the first one. */
async function firstOf(link: Link, session: OpenSession, requests: readonly SettingRequest[]): Promise<void> {
  let refusal: SandboxAgentError | undefined;
  for (const { method, params } of requests) {
    try {
      const { configOptions } = objectOf(await link.connection.request(method, params));
      if (Array.isArray(configOptions)) session.settings = withOptions(session.settings, readOptions(configOptions));
      return;
    } catch (error) {
      if (!(error instanceof AgentError) && !(error instanceof UnsupportedError)) throw error;
      refusal ??= error;
    }
  }
  throw refusal ?? new UnsupportedError("this setting");
}
