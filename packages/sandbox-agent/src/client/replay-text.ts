/** Writes a stored conversation as text, for an agent that no longer has the conversation. */

import { plainText } from "../convert/content.ts";
import type { SandboxEvent } from "../events.ts";
import type { SessionStore, StoredEvent } from "../store/types.ts";
import type { ReplayOptions } from "./options.ts";

const PAGE = 500;

/** The newest turns of a stored session as text; `undefined` if there are none. */
export async function replayText(
  store: SessionStore,
  sessionId: string,
  { maxTurns = 20, maxCharacters = 12_000 }: ReplayOptions = {},
): Promise<string | undefined> {
  const lines: string[] = [];
  let left = maxCharacters;
  let turns = 0;
  let before: number | undefined;
  while (turns < maxTurns && left > 0) {
    const page: readonly StoredEvent[] = await store.listEvents(sessionId, {
      newestFirst: true,
      limit: PAGE,
      ...(before !== undefined && { before }),
    });
    for (const { event } of page) {
      const line = lineOf(event);
      if (line === undefined) continue;
      lines.push(line.length > left ? `… ${line.slice(line.length - left)}` : line);
      left -= line.length;
      if (event.type === "turn.started") turns += 1;
      if (turns >= maxTurns || left <= 0) break;
    }
    before = page.at(-1)?.sequence;
    if (page.length < PAGE) break;
  }
  if (lines.length === 0) return undefined;
  return [
    "This conversation was interrupted and is continued here. What was said before, oldest first:",
    ...lines.reverse(),
    "(End of what was said before.)",
  ].join("\n\n");
}

function lineOf(event: SandboxEvent): string | undefined {
  if (event.type === "turn.started") return `User: ${plainText(event.prompt)}`;
  if (event.type !== "item.completed") return undefined;
  const { kind, role, content, tool, status } = event.item;
  if (kind === "tool_call") return `(Tool: ${tool?.title ?? tool?.name ?? "unnamed"}, ${status})`;
  const text = plainText(content);
  if (kind !== "message" || text === "") return undefined;
  return `${role === "user" ? "User" : "Assistant"}: ${text}`;
}
