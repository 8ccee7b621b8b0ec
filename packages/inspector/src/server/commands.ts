/**
 * Commands on an instance: the only code that sends anything to an agent, and it runs only when the user acts. What
 * comes of it is seen in the journal, like what other clients do, so no second stream is needed.
 */

import { AcpHttpError } from "acp-http-client";
import { isObject, objectOf, randomHex, textOf } from "acp-http-client/internal";
import type { JournalStore } from "../journal/store.ts";
import type { Http } from "./http.ts";

/** What the user can do to instances. */
export interface Commands {
  /** Sends a request and waits for its answer. `agent` starts one where there is none. */
  request(serverId: string, method: string, params: object, agent?: string): Promise<unknown>;
  /** Tells the agent something. */
  notify(serverId: string, method: string, params: object): Promise<void>;
  /** Answers a request of the agent. Fine when somebody else was faster. */
  answer(serverId: string, id: unknown, result: object): Promise<void>;
  /** Answers a request of the agent with an error. */
  decline(serverId: string, id: unknown): Promise<void>;
  /** Starts an agent and opens a session in it. Resolves with the ids. */
  start(agent: string, session: NewSession): Promise<{ readonly serverId: string; readonly sessionId: string }>;
  /** Opens another session. */
  newSession(serverId: string, session: NewSession): Promise<string>;
  /** Starts a new process of the same agent under the same id. */
  startAgain(serverId: string, agent: string): Promise<void>;
  /** Ends an instance and its agent. */
  end(serverId: string): Promise<void>;
}

/** What a session begins with. */
export interface NewSession {
  readonly cwd: string;
  readonly mcpServers: readonly object[];
}

/** An agent that was started and gave no session. It is there, and what it said can be looked at. */
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

/** What this page can do for an agent: show questions and forms. It has no files and no terminals of its own. */
const CAPABILITIES = {
  protocolVersion: 1,
  clientInfo: { name: "sandbox-agent-inspector", title: "Sandbox Agent Inspector", version: VERSION },
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false, elicitation: { form: {} } },
};

/** Binds commands to a server and to the journal in which the answers come. */
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
    // Unique, since other clients talk to the same agent.
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
    if (sessionId === undefined) throw new Error("the agent opened no session");
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
        // Some agents want a login first; those that have a way to do it without a terminal are asked once.
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
