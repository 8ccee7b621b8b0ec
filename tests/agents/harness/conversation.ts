/** One session with an agent, and what was heard in it. */

import { until, within } from "../../../packages/testing/until.ts";
import type { PermissionRequest, SandboxAgentClient, SandboxEvent, Session, TurnResult } from "./sdk.ts";
import type { Testbed } from "./testbed.ts";

/** How long a turn may take that has nothing to wait for. */
export const TURN_MS = 45_000;

/** A session. */
export interface Conversation {
  readonly client: SandboxAgentClient;
  readonly session: Session;
  /** The chunks of the agent's messages so far. */
  readonly chunks: readonly string[];
  /** The permissions that were asked for so far. */
  readonly permissionRequests: readonly PermissionRequest[];
  readonly events: readonly SandboxEvent[];
  /** How permissions are replied to from now on. */
  reply: "once" | "reject";
  /** A whole turn. */
  turn(prompt: string, withinMs?: number): Promise<TurnResult>;
  /** A turn that says these words, and nothing else of note: the session is alive. */
  expectEcho(words: string): Promise<TurnResult>;
}

/** Opens a session of the shared client, or of the one given. */
export async function startConversation(testbed: Testbed, given?: SandboxAgentClient): Promise<Conversation> {
  const client = given ?? (await testbed.client());
  const directory = testbed.environment.workspace;
  const session = await within("session/new to be answered", TURN_MS, client.newSession({ directory }));
  return follow(client, session);
}

/** Listens to a session that is open. */
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
        throw new Error(`asked to say "${words}", it said "${result.text.slice(0, 200)}" (${result.stopReason})`);
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

/** The promise of a turn that is on. In an object, since whoever waits for it does not want to wait for the turn. */
export interface SlowTurn {
  readonly result: Promise<TurnResult>;
}

/**
 * Starts a turn that lasts for so many seconds, and waits until it is under way: some words are heard or, where the
 * agent tells them all at the end, the model is at work.
 */
export async function startSlowTurn(testbed: Testbed, conversation: Conversation, seconds: number): Promise<SlowTurn> {
  const before = conversation.chunks.length;
  const last = (await testbed.model.newest("slow"))?.number ?? 0;
  let isOver = false;
  const result = conversation.client.prompt(conversation.session.id, `slow ${seconds}`).finally(() => {
    isOver = true;
  });
  // Whoever waits for it hears of a failure.
  result.catch(() => {});
  let atWorkSince: number | undefined;
  await until(
    "the slow turn to be under way",
    async () => {
      if (isOver) {
        const { text, stopReason } = await result;
        throw new Error(`a turn of ${seconds} s was over at once: "${text.slice(0, 200)}" (${stopReason})`);
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

/** An agent that has told nothing for so long while its model talks tells all at the end. */
const SILENT_MS = 1_000;
