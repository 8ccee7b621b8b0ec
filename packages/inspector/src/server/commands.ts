/**
 * The user's commands to agents. No other code of this page sends anything to an agent. The results arrive in the
 * journal, like the results of other clients' requests.
 */

import { AcpHttpError } from "acp-http-client";
import { isObject, type JsonObject, objectOf, randomHex, textOf } from "acp-http-client/internal";
import type { JournalStore } from "../journal/store.ts";
import { VERSION } from "../version.ts";
import type { Http } from "./http.ts";

/** The commands that the user can give. */
export interface Commands {
  /** Sends a request and waits for its response. If there is no such instance, one of this `agent` is started. */
  request(serverId: string, method: string, params: object, agent?: string): Promise<unknown>;
  /** Sends a notification. */
  notify(serverId: string, method: string, params: object): Promise<void>;
  /** Answers an agent request. Succeeds if another client has already answered it. */
  answer(serverId: string, id: unknown, result: object): Promise<void>;
  /** Answers an agent request with an error. */
  decline(serverId: string, id: unknown): Promise<void>;
  /** Starts an agent and opens a session. Resolves with the ids. */
  start(agent: string, session: NewSession): Promise<{ readonly serverId: string; readonly sessionId: string }>;
  /** Opens another session. */
  newSession(serverId: string, session: NewSession): Promise<string>;
  /**
   * Starts a new process of the same agent under the same id. Continues the session if the agent can do that, otherwise
   * opens a new session.
   */
  startAgain(serverId: string, agent: string, session: EarlierSession): Promise<StartedAgain>;
  /** Closes an instance and its agent. */
  end(serverId: string): Promise<void>;
}

/** The parameters of a new session. */
export interface NewSession {
  readonly cwd: string;
  readonly mcpServers: readonly object[];
}

/** A session of a process that has ended. */
export interface EarlierSession extends NewSession {
  readonly sessionId: string | undefined;
}

/** The session that is open after an agent was started again. */
export interface StartedAgain {
  readonly sessionId: string;
  /** True if the session is a new one, because the agent no longer has the earlier one. Both may have the same id. */
  readonly isNew: boolean;
}

/** Thrown if the agent was started but did not open a session. The instance exists and can be inspected. */
export class StartError extends Error {
  override name = "StartError";
  readonly serverId: string;

  constructor(serverId: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.serverId = serverId;
  }
}

const METHOD_NOT_FOUND = -32601;

/** The parameters of `initialize`. This page can show questions and forms, but offers no files and no terminals. */
const CAPABILITIES = {
  protocolVersion: 1,
  clientInfo: { name: "sandbox-agent-inspector", title: "Sandbox Agent Inspector", version: VERSION },
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false, elicitation: { form: {} } },
};

/** The method that continues a session of an earlier process, if the agent supports one. */
function continuingMethod({ agentCapabilities }: JsonObject): "session/load" | "session/resume" | undefined {
  const { loadSession, sessionCapabilities } = objectOf(agentCapabilities);
  if (loadSession === true) return "session/load";
  return "resume" in objectOf(sessionCapabilities) ? "session/resume" : undefined;
}

/** Makes commands that send to the server and await responses in the journal. */
export function createCommands(http: Http, journal: JournalStore): Commands {
  const post = async (serverId: string, envelope: object, agent?: string): Promise<void> => {
    await http(`v1/acp/${encodeURIComponent(serverId)}`, {
      method: "POST",
      query: { agent },
      headers: { Prefer: "respond-async", "Idempotency-Key": randomHex(16) },
      json: { jsonrpc: "2.0", ...envelope },
    });
  };

  const request: Commands["request"] = async (serverId, method, params, agent) => {
    // The id must be unique, because other clients may use the same agent.
    const id = `inspector-${randomHex(16)}`;
    const { answer, forget } = journal.answerTo(serverId, id);
    try {
      await post(serverId, { id, method, params }, agent);
    } catch (error) {
      forget();
      throw error;
    }
    return answer;
  };

  const newSession: Commands["newSession"] = async (serverId, session) => {
    const result = objectOf(await request(serverId, "session/new", session));
    const sessionId = textOf(result.sessionId);
    if (sessionId === undefined) throw new Error("the agent returned no session id");
    return sessionId;
  };

  /** Opens a session. If the agent requires a login, uses the first login method that it offers, and tries again. */
  const firstSession = async (serverId: string, initialized: JsonObject, session: NewSession): Promise<string> => {
    try {
      return await newSession(serverId, session);
    } catch (error) {
      const method = Array.isArray(initialized.authMethods) ? initialized.authMethods.find(isObject) : undefined;
      if (!method || !/auth/i.test(error instanceof Error ? error.message : "")) throw error;
      await request(serverId, "authenticate", { methodId: method.id });
      return newSession(serverId, session);
    }
  };

  const answerWith = async (serverId: string, envelope: object): Promise<void> => {
    try {
      await post(serverId, envelope);
    } catch (error) {
      if (!(error instanceof AcpHttpError) || error.code !== "already_answered") throw error;
    }
  };

  return {
    request,
    newSession,
    notify: (serverId, method, params) => post(serverId, { method, params }),
    answer: (serverId, id, result) => answerWith(serverId, { id, result }),
    decline: (serverId, id) =>
      answerWith(serverId, { id, error: { code: METHOD_NOT_FOUND, message: "declined by the user" } }),
    async start(agent, session) {
      const serverId = `${agent.replace(/[^A-Za-z0-9._~-]/g, "-")}-${randomHex(4)}`;
      const initialized = objectOf(await request(serverId, "initialize", CAPABILITIES, agent));
      try {
        return { serverId, sessionId: await firstSession(serverId, initialized, session) };
      } catch (error) {
        throw new StartError(serverId, error);
      }
    },
    async startAgain(serverId, agent, { sessionId, ...session }) {
      journal.keep(serverId);
      const initialized = objectOf(await request(serverId, "initialize", CAPABILITIES, agent));
      const method = continuingMethod(initialized);
      if (sessionId !== undefined && method) {
        try {
          await request(serverId, method, { sessionId, ...session });
          return { sessionId, isNew: false };
        } catch {
          // The agent no longer has the session. The conversation shows the agent's error.
        }
      }
      return { sessionId: await firstSession(serverId, initialized, session), isNew: sessionId !== undefined };
    },
    async end(serverId) {
      await http(`v1/acp/${encodeURIComponent(serverId)}`, { method: "DELETE" });
    },
  };
}
