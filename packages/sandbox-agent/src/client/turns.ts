/** Prompts, and cancelling them. A cancelled turn leaves its session as it is. */

import { contentBlocksOf, contentOf } from "../convert/content.ts";
import { META_NAMESPACE } from "../convert/meta.ts";
import { AgentError, AgentExitedError, ConnectionLostError, DetachedError, SandboxAgentError } from "../errors.ts";
import { objectOf, textOf } from "../json.ts";
import type { TurnResult } from "../session.ts";
import type { Asks } from "./asks.ts";
import { randomId } from "./ids.ts";
import type { Link } from "./link.ts";
import { type Live, type Turn, textOfTurn } from "./live.ts";
import type { PromptMessage, PromptOptions } from "./options.ts";

/** Gives the agent a prompt and waits until it is done with it. */
export async function prompt(
  link: Link,
  asks: Asks,
  live: Live,
  given: string | PromptMessage,
  { signal }: PromptOptions = {},
): Promise<TurnResult> {
  if (live.turn) {
    throw new SandboxAgentError("turn_in_progress", "the agent is still answering in this session: cancel() or wait");
  }
  signal?.throwIfAborted();
  const { message, attachments } = typeof given === "string" ? { message: given, attachments: [] } : given;
  const blocks = contentBlocksOf(message, attachments, live.record.directory, link.info.abilities);
  const turn: Turn = { id: randomId("turn"), items: [] };
  link.sessions.startTurn(live, turn);
  const prompt = blocks.map(contentOf);
  link.sessions.emit(live, { type: "turn.started", turnId: turn.id, prompt }, { source: "client", synthetic: true });
  const { replay } = live;
  delete live.replay;
  const reminder =
    replay === undefined ? [] : [{ type: "text", text: replay, _meta: { [META_NAMESPACE]: { replay: true } } }];
  const stop = (): void => void cancel(link, asks, live).catch(() => {});
  signal?.addEventListener("abort", stop, { once: true });
  const left = detached(live);
  try {
    const params = {
      sessionId: live.record.agentSessionId,
      prompt: [...reminder, ...blocks],
      _meta: { [META_NAMESPACE]: { turn: turn.id } },
    };
    const answer = await Promise.race([link.wire.request("session/prompt", params), left.promise]);
    const stopReason = textOf(objectOf(answer).stopReason) ?? "unknown";
    link.sessions.endTurn(live, stopReason);
    return { turnId: turn.id, stopReason, text: textOfTurn(turn) };
  } catch (error) {
    if (!(error instanceof DetachedError)) failed(link, live, turn, error);
    throw error;
  } finally {
    left.stop();
    signal?.removeEventListener("abort", stop);
  }
}

function failed(link: Link, live: Live, turn: Turn, error: unknown): void {
  if (live.turn !== turn) return;
  const message = error instanceof Error ? error.message : String(error);
  const isEnd = error instanceof AgentExitedError || error instanceof ConnectionLostError;
  const body = { type: "error" as const, message };
  if (error instanceof AgentError) link.sessions.emit(live, { ...body, code: error.number, details: error.data });
  else if (!isEnd) link.sessions.emit(live, body, { source: "client", synthetic: true });
  link.sessions.endTurn(live, "error", { source: "client", synthetic: true });
}

/** Rejects when the caller leaves the session while the agent goes on. */
function detached(live: Live): { readonly promise: Promise<never>; stop(): void } {
  let leave = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    leave = () => reject(new DetachedError());
  });
  promise.catch(() => {});
  live.onDetach.add(leave);
  return { promise, stop: () => live.onDetach.delete(leave) };
}

/** Asks the agent to stop. The turn ends when the agent says so. */
export async function cancel(link: Link, asks: Asks, live: Live): Promise<void> {
  await link.wire.notify("session/cancel", { sessionId: live.record.agentSessionId });
  asks.cancel(live.record.id);
}
