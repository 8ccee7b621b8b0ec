/**
 * The commands of the user: the only code that sends anything to an agent. Results arrive in the journal, like those of
 * other clients.
 */

import { AcpHttpError } from "acp-http-client";
import { isObject, objectOf, randomHex, textOf } from "acp-http-client/internal";
import type { JournalStore } from "../journal/store.ts";
import type { Http } from "./http.ts";

/** The commands that the user can give. */
export interface Commands {
  /** Sends a request and waits for its response. `agent` starts an instance if there is none. */
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
  /** Starts a new process of the same agent under the same id. */
  startAgain(serverId: string, agent: string): Promise<void>;
  /** Closes an instance and its agent. */
  end(serverId: string): Promise<void>;
}

/** The parameters of a new session. */
export interface NewSession {
  readonly cwd: string;
  readonly mcpServers: readonly object[];
}

/** The agent was started but opened no session. Its instance exists and can be inspected. */
export class StartError extends Error {
  override name = "StartError";
  readonly serverId: string;

  constructor(serverId: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.serverId = serverId;
  }
}

const VERSION = "0.1.0";
const METHOD_NOT_FOUND = -32601;

/** The capabilities of this page: it shows questions and forms, and offers no files and terminals. */
const CAPABILITIES = {
  protocolVersion: 1,
  clientInfo: { name: "sandbox-agent-inspector", title: "Sandbox Agent Inspector", version: VERSION },
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false, elicitation: { form: {} } },
};

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
    // Unique, because other clients may use the same agent.
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
        return { serverId, sessionId: await newSession(serverId, session) };
      } catch (error) {
        // Some agents require a login. The first offered method is tried once.
        const method = Array.isArray(initialized.authMethods) ? initialized.authMethods.find(isObject) : undefined;
        if (!method || !/auth/i.test(error instanceof Error ? error.message : ""))
          throw new StartError(serverId, error);
        try {
          await request(serverId, "authenticate", { methodId: method.id });
          return { serverId, sessionId: await newSession(serverId, session) };
        } catch (failure) {
          throw new StartError(serverId, failure);
        }
      }
    },
    startAgain: async (serverId, agent) => void (await request(serverId, "initialize", CAPABILITIES, agent)),
    async end(serverId) {
      await http(`v1/acp/${encodeURIComponent(serverId)}`, { method: "DELETE" });
    },
  };
}
