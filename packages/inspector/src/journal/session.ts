/** Applies updates to the state of a session. */

import { isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from "acp-http-client/internal";
import { costText } from "../text/cost.ts";
import { terminalIdOf } from "./terminals.ts";
import type {
  ContentBlock,
  InstanceState,
  Item,
  SessionState,
  SpeechItem,
  Stamp,
  ToolItem,
  ToolStatus,
  Turn,
} from "./types.ts";

export function newSession(id: string): SessionState {
  return {
    id,
    title: undefined,
    cwd: undefined,
    items: [],
    before: undefined,
    turns: [],
    modes: undefined,
    configOptions: [],
    commands: [],
    usage: undefined,
    isClosed: false,
  };
}

/** The name to show for a session: its title, else the beginning of its first prompt, else its id. */
export function nameOfSession({ title, items, id }: SessionState): string {
  const first = items.find((item) => item.type === "user");
  const words = first?.type === "user" ? first.blocks.map((block) => textOf(block.text) ?? "").join(" ") : "";
  return title || words.trim().slice(0, 60) || id;
}

/** Changes a session. Creates the session if it is unknown: the server may have evicted its first event. */
export function withSession(
  instance: InstanceState,
  sessionId: string,
  change: (session: SessionState) => SessionState,
): InstanceState {
  const before = instance.sessions.get(sessionId) ?? newSession(sessionId);
  const after = change(before);
  if (after === before && instance.sessions.has(sessionId)) return instance;
  return { ...instance, sessions: new Map(instance.sessions).set(sessionId, after) };
}

/** Appends an item. */
export function withItem(session: SessionState, item: Item): SessionState {
  return { ...session, items: [...session.items, item] };
}

/** Applies the settings in a response to `session/new`, `session/load`, `session/resume` or a request that sets one. */
export function withSettings(session: SessionState, result: JsonObject): SessionState {
  return {
    ...session,
    modes: isObject(result.modes) ? result.modes : session.modes,
    configOptions: Array.isArray(result.configOptions) ? result.configOptions.filter(isObject) : session.configOptions,
  };
}

/** Makes the message id for a prompt, which has none of its own. */
export function promptMessageId(requestKey: string): string {
  return `prompt-${requestKey}`;
}

/** Ends turns. The time of their end may be unknown. */
export function withTurnsEnded(
  session: SessionState,
  isEnded: (turn: Turn) => boolean,
  endedAtMs: number | undefined,
): SessionState {
  const ended = new Set(session.turns.filter(isEnded).map(({ requestKey }) => promptMessageId(requestKey)));
  if (ended.size === 0) return session;
  const items = session.items.map((item) =>
    item.type === "user" && item.messageId !== undefined && ended.has(item.messageId) ? { ...item, endedAtMs } : item,
  );
  return { ...session, items, turns: session.turns.filter((turn) => !isEnded(turn)) };
}

/** Applies a `session/update`. */
export function withUpdate(session: SessionState, update: JsonObject, event: Stamp): SessionState {
  // While a session is loaded, the agent sends old updates again: the time of the event is not when they happened.
  const stamp = session.before === undefined ? event : { ...event, atMs: undefined };
  switch (update.sessionUpdate) {
    case "user_message_chunk":
      return isEcho(session, update) ? session : withSpeech(session, "user", update, stamp);
    case "agent_message_chunk":
      return withSpeech(session, "agent", update, stamp);
    case "agent_thought_chunk":
      return withSpeech(session, "thought", update, stamp);
    case "tool_call":
    case "tool_call_update":
      return withTool(session, update, stamp);
    case "plan":
      return withPlan(session, listOf(update.entries).filter(isObject), stamp.key);
    case "available_commands_update":
      return { ...session, commands: listOf(update.availableCommands).filter(isObject) };
    case "current_mode_update":
      return withMode(session, update.currentModeId);
    case "config_option_update":
      return withSettings(session, update);
    case "session_info_update":
      return { ...session, title: textOf(update.title) ?? session.title };
    case "usage_update":
      return { ...session, usage: usageOf(update, session) };
    default:
      return session;
  }
}

/** True if the agent repeats the prompt of a running turn, which is already shown. */
function isEcho(session: SessionState, update: JsonObject): boolean {
  const text = textOf(objectOf(update.content).text);
  return text !== undefined && session.turns.some((turn) => turn.promptText.includes(text));
}

function withSpeech(session: SessionState, type: SpeechItem["type"], update: JsonObject, stamp: Stamp): SessionState {
  const block: ContentBlock = objectOf(update.content);
  const messageId = textOf(update.messageId);
  const last = session.items.at(-1);
  if (last?.type !== type || last.messageId !== messageId) {
    return withItem(session, { type, ...stamp, messageId, blocks: [block] });
  }
  const grown = { ...last, blocks: joined(last.blocks, block) };
  return { ...session, items: [...session.items.slice(0, -1), grown] };
}

/** Merges consecutive text blocks. */
function joined(blocks: readonly ContentBlock[], block: ContentBlock): readonly ContentBlock[] {
  const last = blocks.at(-1);
  if (last?.type !== "text" || block.type !== "text") return [...blocks, block];
  return [...blocks.slice(0, -1), { ...last, text: (textOf(last.text) ?? "") + (textOf(block.text) ?? "") }];
}

const STATUSES: readonly unknown[] = ["pending", "in_progress", "completed", "failed"];
const ENDED: readonly ToolStatus[] = ["completed", "failed"];

/** Applies a tool call or an update of one. Fields that the update lacks keep their values. */
export function withTool(session: SessionState, update: JsonObject, { key, atMs }: Stamp): SessionState {
  const toolCallId = textOf(update.toolCallId) ?? key;
  const index = session.items.findLastIndex((item) => item.type === "tool" && item.toolCallId === toolCallId);
  const known = session.items[index];
  const base: ToolItem =
    known?.type === "tool"
      ? known
      : {
          type: "tool",
          key,
          toolCallId,
          title: toolCallId,
          kind: undefined,
          status: "pending",
          content: [],
          locations: [],
          rawInput: undefined,
          rawOutput: undefined,
          startedAtMs: atMs,
          endedAtMs: undefined,
          terminalId: undefined,
        };
  const status = STATUSES.includes(update.status) ? (update.status as ToolStatus) : base.status;
  const hasWaited = base.status === "pending" && status === "in_progress";
  const next: ToolItem = {
    ...base,
    title: textOf(update.title) ?? base.title,
    kind: textOf(update.kind) ?? base.kind,
    status,
    startedAtMs: hasWaited ? atMs : base.startedAtMs,
    endedAtMs: ENDED.includes(status) ? (base.endedAtMs ?? atMs) : undefined,
    content: Array.isArray(update.content) ? contentAfter(base, update.content.filter(isObject)) : base.content,
    locations: Array.isArray(update.locations) ? update.locations.filter(isObject) : base.locations,
    rawInput: update.rawInput ?? base.rawInput,
    rawOutput: update.rawOutput ?? base.rawOutput,
    terminalId: terminalIdOf(update) ?? base.terminalId,
  };
  return index < 0 ? withItem(session, next) : { ...session, items: session.items.with(index, next) };
}

/**
 * New content replaces the old content, but diffs are kept if the new content has none: many agents send diffs with the
 * permission request and do not repeat them with the result.
 */
function contentAfter({ content }: ToolItem, next: readonly JsonObject[]): readonly JsonObject[] {
  const isDiff = ({ type }: JsonObject): boolean => type === "diff";
  return next.some(isDiff) ? next : [...content.filter(isDiff), ...next];
}

/** Applies a plan. It takes the place of the previous plan of the same turn. */
function withPlan(session: SessionState, entries: readonly JsonObject[], key: string): SessionState {
  const turnStart = session.items.findLastIndex((item) => item.type === "user");
  const index = session.items.findLastIndex((item) => item.type === "plan");
  const known = session.items[index];
  if (known?.type !== "plan" || index < turnStart) return withItem(session, { type: "plan", key, entries });
  return { ...session, items: session.items.with(index, { ...known, entries }) };
}

/** Sets the mode in both places where agents report it: older agents use only `modes`. */
function withMode(session: SessionState, modeId: unknown): SessionState {
  return {
    ...session,
    modes: session.modes && { ...session.modes, currentModeId: modeId },
    configOptions: session.configOptions.map((option) =>
      option.category === "mode" ? { ...option, currentValue: modeId } : option,
    ),
  };
}

/** Applies a changed config option. Needed for agents that do not repeat the new value in their response. */
export function withOption(session: SessionState, configId: unknown, value: unknown): SessionState {
  const configOptions = session.configOptions.map((option) =>
    option.id === configId ? { ...option, currentValue: value } : option,
  );
  return { ...session, configOptions };
}

export { withMode };

function usageOf(update: JsonObject, session: SessionState): SessionState["usage"] {
  const { amount, currency } = objectOf(update.cost);
  const sum = numberOf(amount);
  const cost = sum ? costText(sum, textOf(currency) ?? "") : undefined;
  return { used: numberOf(update.used), size: numberOf(update.size), cost: cost ?? session.usage?.cost };
}
