/**
 * An agent that does what its prompt says: the prompt is a JSON array of {@link Step}s. Every response to one of the
 * agent's requests is quoted in a message of its own.
 */

import { createInterface } from "node:readline";

/** What the agent does next in a turn. */
export type Step =
  /** Sends `session/update`, with `meta` beside the update. */
  | { readonly update: object; readonly meta?: object }
  /** Sends a notification. */
  | { readonly notify: string; readonly params: object }
  /** Sends a request, awaits its response and quotes it. */
  | { readonly request: string; readonly params: object }
  /** Answers the prompt with this error. */
  | { readonly error: object }
  /** Adds these fields to the answer to the prompt. */
  | { readonly result: object };

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: {
    readonly sessionId?: string;
    readonly prompt?: readonly { text?: string }[];
    readonly _meta?: { readonly "sandboxagent.dev"?: { readonly answer?: object } };
  };
  readonly result?: unknown;
  readonly error?: unknown;
}

const waiting = new Map<unknown, (answer: unknown) => void>();
let [sessions, requests] = [0, 0];

const send = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

async function runTurn(sessionId: string | undefined, steps: readonly Step[]): Promise<object> {
  let result: object = { stopReason: "end_turn" };
  const update = (change: object, meta?: object): void =>
    send({ method: "session/update", params: { sessionId, update: change, ...(meta && { _meta: meta }) } });
  for (const step of steps) {
    if ("update" in step) update(step.update, step.meta);
    else if ("notify" in step) send({ method: step.notify, params: { sessionId, ...step.params } });
    else if ("request" in step) {
      requests += 1;
      const id = requests;
      const answer = new Promise((resolve) => waiting.set(id, resolve));
      send({ id, method: step.request, params: { sessionId, ...step.params } });
      const content = { type: "text", text: JSON.stringify(await answer) };
      update({ sessionUpdate: "agent_message_chunk", messageId: `answer-${id}`, content });
    } else if ("error" in step) return { error: step.error };
    else result = { ...result, ...step.result };
  }
  return { result };
}

async function answer({ method, params }: Message): Promise<object> {
  switch (method) {
    case "initialize":
      return { result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } };
    case "session/new":
      sessions += 1;
      return { result: { sessionId: `script-${sessions}`, ...params?._meta?.["sandboxagent.dev"]?.answer } };
    case "session/load":
      return { result: { ...params?._meta?.["sandboxagent.dev"]?.answer } };
    case "session/prompt":
      return runTurn(params?.sessionId, JSON.parse(params?.prompt?.at(-1)?.text ?? "[]") as Step[]);
    default:
      return { error: { code: -32601, message: `"Method not found": ${method}` } };
  }
}

if (import.meta.main ?? process.argv[1]?.endsWith("script-agent.ts")) {
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const message = JSON.parse(line) as Message;
    if (message.method === undefined) waiting.get(message.id)?.(message.result ?? message.error);
    else if (message.id !== undefined) send({ id: message.id, ...(await answer(message)) });
  });
}
