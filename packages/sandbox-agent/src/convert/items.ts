/**
 * Converts `session/update` notifications to events. An item is a message, a thought or a tool call, which usually
 * arrives in many updates.
 */

import type { EventBody, Item, PlanEntry, ToolDetails } from "../events.ts";
import { compact, isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from "../json.ts";
import { type Content, contentOf } from "./content.ts";
import { readDiffs } from "./diffs.ts";
import { readMetadata, type SandboxMetadata } from "./meta.ts";
import { readOptions } from "./settings.ts";
import { readContextUsage } from "./usage.ts";

/** The ids with which an update may refer to an item. */
interface ItemIds {
  /** The protocol's id of the message or the tool call. */
  readonly own: string | undefined;
  /** The legacy id in the metadata. */
  readonly legacy: string | undefined;
  /** The agent's own id in the metadata. */
  readonly native: string | undefined;
}

/** An item that is not completed. */
export interface OpenItem {
  /** The item so far. */
  readonly item: Item;
  /** The ids that the agent has used for the item. */
  readonly ids: ItemIds;
}

/** The open items of a session. */
export interface ItemsState {
  /** The running turn. */
  readonly turnId?: string;
  /** The items that are not completed, oldest first. */
  readonly open: readonly OpenItem[];
  /** How many items there were so far. */
  readonly count: number;
}

/** A session without open items. */
export const NO_ITEMS: ItemsState = { open: [], count: 0 };

/** The result of an update. */
export interface Step {
  /** The new state. */
  readonly state: ItemsState;
  /** The resulting events, in order. */
  readonly events: readonly EventBody[];
}

/** The result of an update that came from the agent. */
export interface UpdateStep extends Step {
  /** The index of the main event: what the update reports. The other events only follow from it. */
  readonly main: number;
}

/** The state at the start of a turn. */
export function startTurn(state: ItemsState, turnId: string): ItemsState {
  return { ...state, turnId };
}

/** Completes the open items at the end of a turn. */
export function endTurn(state: ItemsState): Step {
  const events = state.open.map(({ item }) => completed(state, item));
  return { state: { open: [], count: state.count }, events };
}

/**
 * Applies an update from the agent.
 *
 * @param metadata - The metadata of the update. Default: what the update itself contains.
 */
export function applyUpdate(state: ItemsState, update: unknown, metadata = readMetadata(update)): UpdateStep {
  const change = objectOf(update);
  switch (change.sessionUpdate) {
    case "agent_message_chunk":
      return chunk(state, change, metadata, "message", "assistant");
    case "agent_thought_chunk":
      return chunk(state, change, metadata, "reasoning", "assistant");
    case "user_message_chunk":
      return chunk(state, change, metadata, "message", "user");
    case "tool_call":
    case "tool_call_update":
      return toolCall(state, change, metadata);
    default:
      return { state, events: [sessionChange(change)], main: 0 };
  }
}

function chunk(
  state: ItemsState,
  change: JsonObject,
  metadata: SandboxMetadata,
  kind: Item["kind"],
  role: Item["role"],
): UpdateStep {
  const ids = idsOf(change.messageId, metadata);
  const content = contentOf(change.content);
  const same = state.open.find(
    ({ item, ids: known }) => item.kind === kind && item.role === role && (isAnonymous(ids) || isSame(known, ids)),
  );
  if (same) {
    const grown = { ...same.item, content: append(same.item.content, content) };
    return { state: replace(state, same, grown, ids), events: [delta(state, grown.id, [content])], main: 0 };
  }
  const closed = closeMessages(state);
  const item: Item = { ...identity(state, ids, metadata), kind, role, status: "in_progress", content: [] };
  const grown = { item: { ...item, content: [content] }, ids };
  const events = [...closed.events, started(state, item), delta(state, item.id, [content])];
  // The main event is the content that the chunk adds, unless metadata marks the chunk as the start of the item.
  const main = isStart(change, metadata) ? events.length - 2 : events.length - 1;
  return { state: { ...closed.state, open: [...closed.state.open, grown], count: state.count + 1 }, events, main };
}

/** True if metadata marks a chunk as the start of its item. Its `phase` is in our namespace or directly in `_meta`. */
function isStart({ _meta }: JsonObject, { phase }: SandboxMetadata): boolean {
  return (phase ?? objectOf(_meta).phase) === "started";
}

function toolCall(state: ItemsState, change: JsonObject, metadata: SandboxMetadata): UpdateStep {
  const ids = idsOf(change.toolCallId, metadata);
  const known = state.open.find((open) => open.item.kind === "tool_call" && isSame(open.ids, ids));
  if (known) {
    const item = withToolChange(known.item, change);
    const isDone = item.status !== "in_progress";
    const events: EventBody[] = [];
    if (!isDone || change.content) events.push({ ...delta(state, item.id, item.content), item });
    if (isDone) events.push(completed(state, item, item.status));
    return { state: replace(state, known, isDone ? undefined : item, ids), events, main: events.length - 1 };
  }
  const before = closeMessages(state);
  const blank = { kind: "tool_call", role: "tool", status: "in_progress", content: [] } as const;
  const item = withToolChange({ ...identity(state, ids, metadata), ...blank }, change);
  const isDone = item.status !== "in_progress";
  const events = [...before.events, started(state, { ...item, status: "in_progress" })];
  if (isDone) events.push(completed(state, item, item.status));
  const open = isDone ? before.state.open : [...before.state.open, { item, ids }];
  const main = change.sessionUpdate === "tool_call" ? before.events.length : events.length - 1;
  return { state: { ...before.state, open, count: state.count + 1 }, events, main };
}

/** Finds the details of an open tool call. */
export function openTool({ open }: ItemsState, toolCallId: unknown): ToolDetails | undefined {
  if (typeof toolCallId !== "string") return undefined;
  return open.find(({ ids }) => ids.own === toolCallId)?.item.tool;
}

function withToolChange(item: Item, change: JsonObject): Item {
  const parts = listOf(change.content).map(objectOf);
  const status = change.status === "completed" || change.status === "failed" ? change.status : item.status;
  const ofType = (type: string): JsonObject[] => parts.filter((part) => part.type === type);
  const tool: ToolDetails = compact({
    ...item.tool,
    title: textOf(change.title) ?? item.tool?.title,
    name: textOf(change.name) ?? item.tool?.name,
    kind: textOf(change.kind) ?? item.tool?.kind,
    input: change.rawInput ?? item.tool?.input,
    output: change.rawOutput ?? item.tool?.output,
    locations: Array.isArray(change.locations) ? locations(change.locations) : item.tool?.locations,
    diffs: Array.isArray(change.content) ? some(readDiffs(change.content)) : item.tool?.diffs,
    terminals: Array.isArray(change.content)
      ? some(ofType("terminal").map((part) => textOf(part.terminalId) ?? ""))
      : item.tool?.terminals,
  });
  // An update of a tool call repeats its whole content; a chunk of a message has only what is new.
  const content = Array.isArray(change.content)
    ? ofType("content").map((part) => contentOf(part.content))
    : item.content;
  return { ...item, status, content, tool };
}

function locations(list: readonly unknown[]): { path: string; line?: number }[] {
  return list.map(objectOf).map(({ path, line }) => compact({ path: textOf(path) ?? "", line: numberOf(line) }));
}

function some<T>(list: T[]): T[] | undefined {
  return list.length > 0 ? list : undefined;
}

function idsOf(own: unknown, metadata: SandboxMetadata): ItemIds {
  return {
    own: textOf(own),
    legacy: textOf(metadata.itemId ?? metadata.item_id),
    native: textOf(metadata.nativeItemId ?? metadata.native_item_id),
  };
}

function isAnonymous({ own, legacy, native }: ItemIds): boolean {
  return (own ?? legacy ?? native) === undefined;
}

/** Compares the first kind of id that both sides have: ids of different kinds may be equal by accident. */
function isSame(known: ItemIds, given: ItemIds): boolean {
  if (known.own !== undefined && given.own !== undefined) return known.own === given.own;
  if (known.legacy !== undefined && given.legacy !== undefined) return known.legacy === given.legacy;
  return known.native !== undefined && known.native === given.native;
}

function identity({ count }: ItemsState, ids: ItemIds, metadata: SandboxMetadata): Pick<Item, "id"> & Partial<Item> {
  const { own, legacy, native } = ids;
  const parentId = textOf(metadata.parentId ?? metadata.parent_id);
  return compact({ id: legacy ?? own ?? native ?? `item-${count + 1}`, nativeId: native ?? own, parentId });
}

/** Completes the open message or thought, because another item starts. Tool calls stay open: they run in parallel. */
function closeMessages(state: ItemsState): Step {
  const ends = state.open.filter(({ item }) => item.kind !== "tool_call");
  return {
    state: { ...state, open: state.open.filter(({ item }) => item.kind === "tool_call") },
    events: ends.map(({ item }) => completed(state, item)),
  };
}

/** Replaces an open item, or removes it if `item` is `undefined`. Remembers the ids that an update adds. */
function replace(state: ItemsState, old: OpenItem, item: Item | undefined, ids: ItemIds): ItemsState {
  const { own = ids.own, legacy = ids.legacy, native = ids.native } = old.ids;
  const next = item ? [{ item, ids: { own, legacy, native } }] : [];
  return { ...state, open: state.open.flatMap((open) => (open === old ? next : open)) };
}

/** Appends content. Consecutive text is merged, so that a long answer is not a list of words. */
function append(content: readonly Content[], piece: Content): Content[] {
  const last = content.at(-1);
  if (last?.type === "text" && piece.type === "text") {
    return [...content.slice(0, -1), { type: "text", text: last.text + piece.text }];
  }
  return [...content, piece];
}

function started({ turnId }: ItemsState, item: Item): EventBody {
  return compact({ type: "item.started" as const, turnId, item });
}

function delta({ turnId }: ItemsState, itemId: string, content: readonly Content[]) {
  return compact({ type: "item.delta" as const, turnId, itemId, content });
}

function completed({ turnId }: ItemsState, item: Item, status: Item["status"] = "completed"): EventBody {
  return compact({ type: "item.completed" as const, turnId, item: { ...item, status } });
}

function sessionChange(change: JsonObject): EventBody {
  const type = "session.updated" as const;
  switch (change.sessionUpdate) {
    case "session_info_update":
      return compact({ type, title: textOf(change.title) });
    case "current_mode_update":
      return compact({ type, mode: textOf(change.currentModeId) });
    case "config_option_update":
      return { type, options: readOptions(change.configOptions) };
    case "available_commands_update":
      return { type, commands: listOf(change.availableCommands).filter(isObject).map(command) };
    case "usage_update":
      return { type, usage: readContextUsage(change) };
    case "plan":
      return { type, plan: listOf(change.entries).filter(isObject).map(planEntry) };
    default:
      return { type, unknown: change };
  }
}

function command({ name, description }: JsonObject) {
  return compact({ id: textOf(name) ?? "", name: textOf(name) ?? "", description: textOf(description) });
}

function planEntry({ content, priority, status }: JsonObject): PlanEntry {
  return compact({ content: textOf(content) ?? "", priority: textOf(priority), status: textOf(status) });
}
