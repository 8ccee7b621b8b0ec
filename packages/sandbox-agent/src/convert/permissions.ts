/**
 * Converts permission requests, and the generic replies to them: `once`, `always`, `reject`. A reply selects one of the
 * options that the agent has sent with its request.
 */

import type { FileDiff, ToolDetails } from "../events.ts";
import { compact, type JsonObject, listOf, objectOf, textOf } from "../json.ts";
import { readDiffs } from "./diffs.ts";
import { META_NAMESPACE } from "./meta.ts";

/** A reply to a permission request. */
export type PermissionReply = "once" | "always" | "reject";

/** What the reply to a permission request has granted: permission for this one time, from now on, or nothing. */
export type PermissionGrant = "once" | "always" | "nothing";

/** The kind of an option. */
export type PermissionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";

/** An option of a permission request. */
export interface PermissionOption {
  /** Identifies the option in a reply. */
  readonly id: string;
  /** The label to show. */
  readonly label: string;
  /** The kind of the option; absent if the agent uses an unknown kind. */
  readonly kind?: PermissionKind;
}

/** An agent request for a permission. */
export interface PermissionRequest {
  /** Identifies the request in a reply. */
  readonly permissionId: string;
  /** The session that the request belongs to. */
  readonly sessionId: string;
  /** A short description of what the agent wants to do. */
  readonly title: string;
  /** The tool call that awaits the permission. */
  readonly toolCallId?: string;
  /** The kind of tool, such as `edit` or `execute`. */
  readonly toolKind?: string;
  /** The tool's input. */
  readonly input?: unknown;
  /** The changes to files that the agent wants to make. */
  readonly diffs: readonly FileDiff[];
  /** The options to reply with. */
  readonly options: readonly PermissionOption[];
  /** The tool call as sent by the agent. */
  readonly raw?: unknown;
}

const KINDS: readonly string[] = ["allow_once", "allow_always", "reject_once", "reject_always"];

/**
 * Converts a permission request.
 *
 * @param known - What the agent has already sent about the tool call: the request need not repeat it.
 */
export function readPermission(
  params: unknown,
  ids: { permissionId: string; sessionId: string },
  known: ToolDetails = {},
): PermissionRequest {
  const { toolCall, options } = objectOf(params);
  const call = objectOf(toolCall);
  return compact({
    ...ids,
    title: textOf(call.title) ?? known.title ?? "",
    toolCallId: textOf(call.toolCallId),
    toolKind: textOf(call.kind) ?? known.kind,
    input: call.rawInput ?? known.input,
    diffs: Array.isArray(call.content) ? readDiffs(call.content) : (known.diffs ?? []),
    options: listOf(options).map(readOption),
    raw: toolCall,
  });
}

function readOption(option: unknown): PermissionOption {
  const { optionId, name, kind } = objectOf(option);
  const known = KINDS.includes(kind as string) ? (kind as PermissionKind) : undefined;
  return compact({ id: textOf(optionId) ?? "", label: textOf(name) ?? textOf(optionId) ?? "", kind: known });
}

/** The option that a reply selects. */
export interface PermissionChoice {
  /** The option; absent if no offered option matches the reply. */
  readonly option?: PermissionOption;
  /** True if the option is not exactly what the reply asked for. */
  readonly isFallback: boolean;
}

/** The kinds of option that match a reply, best first. `closest` is used if no option matches exactly. */
const BY_KIND: Record<PermissionReply, { exact: PermissionKind[]; closest: PermissionKind[] }> = {
  once: { exact: ["allow_once"], closest: [] },
  always: { exact: ["allow_always"], closest: ["allow_once"] },
  reject: { exact: ["reject_once", "reject_always"], closest: [] },
};

/** The option ids that match a reply, for agents that do not send the kinds of their options. */
const BY_ID: Record<PermissionReply, RegExp> = {
  once: /^(once|allow|allow[-_]?once|yes|approve|approved|accept|proceed[-_]?once)$/i,
  always: /^(always|allow[-_]?always|allow[-_]?session|approved?[-_]?for[-_]?session|proceed[-_]?always)$/i,
  reject: /^(reject|reject[-_]?once|deny|denied|no|decline|cancel|abort)$/i,
};

/**
 * Selects the option for a reply: by kind, then by id. If there is no option for `always`, one for `once` is selected.
 * No other reply falls back to an option of another kind: `once` never becomes a lasting permission, and `reject` never
 * allows anything. If nothing matches, no option is selected and the agent receives the answer `cancelled`.
 */
export function choosePermission(options: readonly PermissionOption[], reply: PermissionReply): PermissionChoice {
  const { exact, closest } = BY_KIND[reply];
  const ofKind = (kinds: PermissionKind[]): PermissionOption | undefined =>
    kinds.map((kind) => options.find((option) => option.kind === kind)).find((option) => option !== undefined);
  const byId = (wanted: PermissionReply): PermissionOption | undefined =>
    options.find((option) => option.kind === undefined && BY_ID[wanted].test(option.id));
  const precise = ofKind(exact) ?? byId(reply);
  if (precise) return { option: precise, isFallback: false };
  const near = ofKind(closest) ?? (reply === "always" ? byId("once") : undefined);
  return near ? { option: near, isFallback: true } : { isFallback: true };
}

/** The reply that an option corresponds to. */
export function replyOf(option: PermissionOption): PermissionReply | undefined {
  if (option.kind) return option.kind === "allow_once" ? "once" : option.kind === "allow_always" ? "always" : "reject";
  return (["once", "always", "reject"] as const).find((reply) => BY_ID[reply].test(option.id));
}

/** What a choice grants; `undefined` if the option is of an unknown kind. */
export function grantedBy({ option }: PermissionChoice): PermissionGrant | undefined {
  const reply = option ? replyOf(option) : "reject";
  return reply === "reject" ? "nothing" : reply;
}

/** The response that selects an option. `_meta` records the requested reply and whether a fallback was used. */
export function permissionAnswer(choice: PermissionChoice, reply: PermissionReply | undefined): JsonObject {
  if (!choice.option) return { outcome: { outcome: "cancelled" }, ...note({ reply, fallback: "cancelled" }) };
  const outcome = { outcome: "selected", optionId: choice.option.id };
  const fallback = choice.isFallback ? (choice.option.kind ?? choice.option.id) : undefined;
  return { outcome, ...note({ reply, fallback }) };
}

function note(entries: { reply: PermissionReply | undefined; fallback: string | undefined }): JsonObject {
  const kept = compact(entries);
  return Object.keys(kept).length === 0 ? {} : { _meta: { [META_NAMESPACE]: { permission: kept } } };
}

/** The response to a permission request whose turn was cancelled. */
export function permissionCancelled(): JsonObject {
  return { outcome: { outcome: "cancelled" } };
}
