/** A client with one session, for tests. */

import { type ClientApp, type ClientConnection, client, methods, type PromptResponse } from "@agentclientprotocol/sdk";
import { type AcpHttpClient, connectAcp } from "../client.ts";
import type { AcpHttpOptions, AcpStreamEvent } from "../options.ts";

/** A connected client that records what it receives. */
export interface TestClient extends AcpHttpClient<ClientConnection> {
  /** The agent's text chunks, in order. */
  readonly texts: string[];
  /** What happened, other than messages. */
  readonly events: AcpStreamEvent[];
}

/** Connects a client that records what it receives. */
export function connect(
  url: string,
  options: AcpHttpOptions = {},
  prepare: (app: ClientApp) => ClientApp = (app) => app,
): TestClient {
  const texts: string[] = [];
  const events: AcpStreamEvent[] = [];
  const app = client().onNotification(methods.client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
      texts.push(update.content.text);
  });
  const onEvent = (event: AcpStreamEvent): void => {
    events.push(event);
    options.onEvent?.(event);
  };
  return { ...connectAcp(url, { ...options, onEvent }, prepare(app)), texts, events };
}

/** Initializes the agent and opens a session. */
export async function openSession({ connection }: TestClient): Promise<string> {
  const clientCapabilities = { elicitation: { form: {} } };
  await connection.agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities });
  const { sessionId } = await connection.agent.request(methods.agent.session.new, { cwd: "/", mcpServers: [] });
  return sessionId;
}

/** Runs one turn. */
export function prompt({ connection }: TestClient, sessionId: string, text: string): Promise<PromptResponse> {
  return connection.agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
}

let count = 0;

/** An endpoint that no other test uses. */
export function endpoint(base: string, agent = "mock"): string {
  count += 1;
  return `${base}/v1/acp/test-${count}?agent=${agent}`;
}
