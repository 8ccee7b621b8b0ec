/** Prompts and their cancellation. A cancelled turn leaves its session open. */

import { contentBlocksOf, contentOf } from "../convert/content.ts";
import { META_NAMESPACE } from "../convert/meta.ts";
import { readStopReason, readTurnUsage } from "../convert/usage.ts";
import { AgentError, AgentExitedError, ConnectionLostError, DetachedError, SandboxAgentError } from "../errors.ts";
import type { SandboxEvent } from "../events.ts";
import type { RunningTurn, TurnResult } from "../session.ts";
import type { AgentRequests } from "./agent-requests.ts";
import { randomId } from "./ids.ts";
import type { Link } from "./link.ts";
import { type OpenSession, type Turn, textOfTurn } from "./open-sessions.ts";
import type { PromptMessage, PromptOptions } from "./options.ts";

/** Sends a prompt and waits until the turn ends. */
export async function prompt(
  link: Link,
  agentRequests: AgentRequests,
  session: OpenSession,
  given: string | PromptMessage,
  { signal }: PromptOptions = {},
): Promise<TurnResult> {
  if (session.turn) {
    throw new SandboxAgentError("turn_in_progress", "the agent is still answering in this session: cancel() or wait");
  }
  signal?.throwIfAborted();
  const { message, attachments } = typeof given === "string" ? { message: given, attachments: [] } : given;
  const blocks = contentBlocksOf(message, attachments, session.record.directory, link.info.abilities);
  const turn: Turn = { id: randomId("turn"), items: [] };
  link.sessions.startTurn(session, turn);
  const prompt = blocks.map(contentOf);
  link.sessions.emit(session, { type: "turn.started", turnId: turn.id, prompt }, { source: "client", synthetic: true });
  const { replay } = session;
  delete session.replay;
  const reminder =
    replay === undefined ? [] : [{ type: "text", text: replay, _meta: { [META_NAMESPACE]: { replay: true } } }];
  const stop = (): void => void cancel(link, agentRequests, session).catch(() => {});
  signal?.addEventListener("abort", stop, { once: true });
  const left = detached(session);
  try {
    const params = {
      sessionId: session.record.agentSessionId,
      prompt: [...reminder, ...blocks],
      _meta: { [META_NAMESPACE]: { turn: turn.id } },
    };
    const answer = await Promise.race([link.connection.request("session/prompt", params), left.promise]);
    const stopReason = readStopReason(answer);
    link.sessions.endTurn(session, stopReason, { message: answer });
    return { turnId: turn.id, stopReason, text: textOfTurn(turn), ...readTurnUsage(answer, turn.usage) };
  } catch (error) {
    if (!(error instanceof DetachedError)) failed(link, session, turn, error);
    throw error;
  } finally {
    left.stop();
    signal?.removeEventListener("abort", stop);
  }
}

/**
 * Makes the value that `prompt()` returns: it can be awaited, and iterated over.
 *
 * @param events - Streams the events of the session until the signal is aborted.
 */
export function runningTurn(
  result: Promise<TurnResult>,
  events: (signal: AbortSignal) => AsyncGenerator<SandboxEvent, void, void>,
): RunningTurn {
  const over = new AbortController();
  const turn = result.finally(() => over.abort());
  async function* read(stream: AsyncGenerator<SandboxEvent, void, void>): AsyncGenerator<SandboxEvent, void, void> {
    yield* stream;
    await turn;
  }
  return Object.assign(turn, {
    [Symbol.asyncIterator]() {
      // A caller that only iterates receives a failure from the loop: it must not be reported as unhandled as well.
      turn.catch(() => {});
      return read(events(over.signal));
    },
  });
}

function failed(link: Link, session: OpenSession, turn: Turn, error: unknown): void {
  if (session.turn !== turn) return;
  const message = error instanceof Error ? error.message : String(error);
  const isEnd = error instanceof AgentExitedError || error instanceof ConnectionLostError;
  const body = { type: "error" as const, message };
  if (error instanceof AgentError) link.sessions.emit(session, { ...body, code: error.number, details: error.data });
  else if (!isEnd) link.sessions.emit(session, body, { source: "client", synthetic: true });
  link.sessions.endTurn(session, "error", { source: "client", synthetic: true });
}

/** Rejects when the caller detaches from the session. */
function detached(session: OpenSession): { readonly promise: Promise<never>; stop(): void } {
  let leave = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    leave = () => reject(new DetachedError());
  });
  promise.catch(() => {});
  session.onDetach.add(leave);
  return { promise, stop: () => session.onDetach.delete(leave) };
}

/** Asks the agent to stop. The turn ends when the agent answers the prompt. */
export async function cancel(link: Link, agentRequests: AgentRequests, session: OpenSession): Promise<void> {
  await link.connection.notify("session/cancel", { sessionId: session.record.agentSessionId });
  agentRequests.cancel(session.record.id);
}
