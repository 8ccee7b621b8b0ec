/** A session with an agent, and what the client has received in it. */

import { until, within } from "../../../packages/testing/until.ts";
import type { PermissionRequest, SandboxAgentClient, SandboxEvent, Session, TurnResult } from "./sdk.ts";
import type { Testbed } from "./testbed.ts";

/** How long an ordinary turn may take. */
export const TURN_MS = 45_000;

/** A session. */
export interface Conversation {
  readonly client: SandboxAgentClient;
  readonly session: Session;
  /** The chunks of the agent's messages so far. */
  readonly chunks: readonly string[];
  /** The permission requests so far. */
  readonly permissionRequests: readonly PermissionRequest[];
  readonly events: readonly SandboxEvent[];
  /** The reply to permission requests. May be changed at any time. */
  reply: "once" | "reject";
  /** Runs a turn. */
  turn(prompt: string, withinMs?: number): Promise<TurnResult>;
  /** Runs a turn that must repeat these words, which shows that the session works. */
  expectEcho(words: string): Promise<TurnResult>;
}

/** Opens a session of the shared client, or of the given one. */
export async function startConversation(testbed: Testbed, given?: SandboxAgentClient): Promise<Conversation> {
  const client = given ?? (await testbed.client());
  const directory = testbed.environment.workspace;
  const session = await within("session/new to be answered", TURN_MS, client.newSession({ directory }));
  return follow(client, session);
}

/** Records what the client receives in an open session. */
export function follow(client: SandboxAgentClient, session: Session): Conversation {
  const events: SandboxEvent[] = [];
  const chunks: string[] = [];
  const permissionRequests: PermissionRequest[] = [];
  const messages = new Set<string>();
  client.onEvent((event) => {
    if (event.sessionId !== session.id) return;
    events.push(event);
    if (event.type === "item.started" && event.item.kind === "message" && event.item.role === "assistant") {
      messages.add(event.item.id);
    }
    if (event.type !== "item.delta" || !messages.has(event.itemId)) return;
    chunks.push(...event.content.map((piece) => (piece.type === "text" ? piece.text : "")));
  });
  const conversation: Conversation = {
    client,
    session,
    chunks,
    permissionRequests,
    events,
    reply: "once",
    turn: (prompt, withinMs = TURN_MS) =>
      within(`the end of the turn "${prompt.slice(0, 60)}"`, withinMs, client.prompt(session.id, prompt)),
    async expectEcho(words) {
      const result = await conversation.turn(`say ${words}`);
      if (!result.text.includes(words)) {
        throw new Error(`it did not repeat "${words}" but sent "${result.text.slice(0, 200)}" (${result.stopReason})`);
      }
      return result;
    },
  };
  client.onPermission((request) => {
    if (request.sessionId !== session.id) return;
    permissionRequests.push(request);
    return conversation.reply;
  });
  return conversation;
}

/** A running turn. An object around the promise, so that awaiting `startSlowTurn` does not also await the turn. */
export interface SlowTurn {
  readonly result: Promise<TurnResult>;
}

/**
 * Starts a turn that takes this many seconds, and waits until it is running: chunks have arrived or, if the agent sends
 * its message only at the end, the model is answering.
 */
export async function startSlowTurn(testbed: Testbed, conversation: Conversation, seconds: number): Promise<SlowTurn> {
  const before = conversation.chunks.length;
  const last = (await testbed.model.newest("slow"))?.number ?? 0;
  let isOver = false;
  const result = conversation.client.prompt(conversation.session.id, `slow ${seconds}`).finally(() => {
    isOver = true;
  });
  // The rejection is handled where the result is awaited.
  result.catch(() => {});
  let atWorkSince: number | undefined;
  await until(
    "the slow turn to be under way",
    async () => {
      if (isOver) {
        const { text, stopReason } = await result;
        throw new Error(`a turn of ${seconds} s ended immediately: "${text.slice(0, 200)}" (${stopReason})`);
      }
      if (conversation.chunks.length >= before + 3) return true;
      const request = await testbed.model.newest("slow");
      if (request !== undefined && request.number > last && request.outcome === "under_way") {
        atWorkSince ??= performance.now();
      }
      return atWorkSince !== undefined && performance.now() - atWorkSince > SILENT_MS;
    },
    TURN_MS,
  );
  return { result };
}

/** If an agent sends nothing for this long while the model is answering, it sends its message only at the end. */
const SILENT_MS = 1_000;
