/** One session with an agent, and what was heard in it. */

import type { PermissionRequest, SandboxAgentClient, SandboxEvent, Session, TurnResult } from "./sdk.ts";
import type { Stage } from "./stage.ts";
import { until, within } from "./waiting.ts";

/** How long a turn may take that has nothing to wait for. */
export const TURN_MS = 45_000;

/** A session. */
export interface Talk {
  readonly client: SandboxAgentClient;
  readonly session: Session;
  /** The chunks of the agent's messages so far. */
  readonly said: readonly string[];
  /** The permissions that were asked for so far. */
  readonly asked: readonly PermissionRequest[];
  readonly events: readonly SandboxEvent[];
  /** How permissions are replied to from now on. */
  reply: "once" | "reject";
  /** A whole turn. */
  turn(prompt: string, withinMs?: number): Promise<TurnResult>;
  /** A turn that says these words, and nothing else of note: the session is alive. */
  alive(words: string): Promise<TurnResult>;
}

/** Opens a session of the shared client, or of the one given. */
export async function startTalk(stage: Stage, given?: SandboxAgentClient): Promise<Talk> {
  const client = given ?? (await stage.client());
  const directory = stage.surroundings.workspace;
  const session = await within("session/new to be answered", TURN_MS, client.newSession({ directory }));
  return follow(client, session);
}

/** Listens to a session that is open. */
export function follow(client: SandboxAgentClient, session: Session): Talk {
  const events: SandboxEvent[] = [];
  const said: string[] = [];
  const asked: PermissionRequest[] = [];
  const messages = new Set<string>();
  client.onEvent((event) => {
    if (event.sessionId !== session.id) return;
    events.push(event);
    if (event.type === "item.started" && event.item.kind === "message" && event.item.role === "assistant") {
      messages.add(event.item.id);
    }
    if (event.type !== "item.delta" || !messages.has(event.itemId)) return;
    said.push(...event.content.map((piece) => (piece.type === "text" ? piece.text : "")));
  });
  const talk: Talk = {
    client,
    session,
    said,
    asked,
    events,
    reply: "once",
    turn: (prompt, withinMs = TURN_MS) =>
      within(`the end of the turn "${prompt.slice(0, 60)}"`, withinMs, client.prompt(session.id, prompt)),
    async alive(words) {
      const result = await talk.turn(`say ${words}`);
      if (!result.text.includes(words)) {
        throw new Error(`asked to say "${words}", it said "${result.text.slice(0, 200)}" (${result.stopReason})`);
      }
      return result;
    },
  };
  client.onPermission((request) => {
    if (request.sessionId !== session.id) return;
    asked.push(request);
    return talk.reply;
  });
  return talk;
}

/** The promise of a turn that is on. In an object, since whoever waits for it does not want to wait for the turn. */
export interface SlowTurn {
  readonly result: Promise<TurnResult>;
}

/**
 * Starts a turn that lasts for so many seconds, and waits until it is under way: some words are heard or, where the
 * agent tells them all at the end, the model is at work.
 */
export async function startSlowTurn(stage: Stage, talk: Talk, seconds: number): Promise<SlowTurn> {
  const before = talk.said.length;
  const last = (await stage.model.newest("slow"))?.number ?? 0;
  let isOver = false;
  const result = talk.client.prompt(talk.session.id, `slow ${seconds}`).finally(() => {
    isOver = true;
  });
  // Whoever waits for it hears of a failure.
  result.catch(() => {});
  let atWorkSince: number | undefined;
  await until("the slow turn to be under way", TURN_MS, async () => {
    if (isOver) {
      const { text, stopReason } = await result;
      throw new Error(`a turn of ${seconds} s was over at once: "${text.slice(0, 200)}" (${stopReason})`);
    }
    if (talk.said.length >= before + 3) return true;
    const request = await stage.model.newest("slow");
    if (request !== undefined && request.number > last && request.outcome === "under_way") {
      atWorkSince ??= performance.now();
    }
    return atWorkSince !== undefined && performance.now() - atWorkSince > SILENT_MS;
  });
  return { result };
}

/** An agent that has told nothing for so long while its model talks tells all at the end. */
const SILENT_MS = 1_000;
