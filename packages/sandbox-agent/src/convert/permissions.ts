/** Permission requests, and the three replies to them. The agent's own options decide what a reply means. */

import { compact, type JsonObject, listOf, objectOf, textOf } from "../json.ts";
import { META_NAMESPACE } from "./meta.ts";

/** A reply to a permission request. */
export type PermissionReply = "once" | "always" | "reject";

/** What kind of reply an option is. */
export type PermissionKind = "allow_once" | "allow_always" | "reject_once" | "reject_always";

/** One way to answer. */
export interface PermissionOption {
  /** Names the option in a reply. */
  readonly id: string;
  /** What to show. */
  readonly label: string;
  /** What it means; absent when the agent uses a word that is not known. */
  readonly kind?: PermissionKind;
}

/** An agent that wants to do something and agentRequests. */
export interface PermissionRequest {
  /** Names the request in a reply. */
  readonly permissionId: string;
  /** The session it came up in. */
  readonly sessionId: string;
  /** What the agent wants to do, in a few words. */
  readonly title: string;
  /** The tool call that waits for it. */
  readonly toolCallId?: string;
  /** What kind of thing the tool does, such as `edit` or `execute`. */
  readonly toolKind?: string;
  /** What the tool was given. */
  readonly input?: unknown;
  /** The ways to answer. */
  readonly options: readonly PermissionOption[];
  /** The tool call as the agent described it. */
  readonly raw?: unknown;
}

const KINDS: readonly string[] = ["allow_once", "allow_always", "reject_once", "reject_always"];

/** Reads a permission request. */
export function readPermission(params: unknown, ids: { permissionId: string; sessionId: string }): PermissionRequest {
  const { toolCall, options } = objectOf(params);
  const call = objectOf(toolCall);
  return compact({
    ...ids,
    title: textOf(call.title) ?? "",
    toolCallId: textOf(call.toolCallId),
    toolKind: textOf(call.kind),
    input: call.rawInput,
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
  /** The option; absent when none offered means anything like the reply. */
  readonly option?: PermissionOption;
  /** Whether another option than the one asked for had to do. */
  readonly isFallback: boolean;
}

/** Which kinds mean a reply, best first. Behind the bar is the closest there is, which counts as a fallback. */
const BY_KIND: Record<PermissionReply, { exact: PermissionKind[]; closest: PermissionKind[] }> = {
  once: { exact: ["allow_once"], closest: ["allow_always"] },
  always: { exact: ["allow_always"], closest: ["allow_once"] },
  reject: { exact: ["reject_once", "reject_always"], closest: [] },
};

/** Option ids that agents without kinds use. */
const BY_ID: Record<PermissionReply, RegExp> = {
  once: /^(once|allow|allow[-_]?once|yes|approve|approved|accept|proceed[-_]?once)$/i,
  always: /^(always|allow[-_]?always|allow[-_]?session|approved?[-_]?for[-_]?session|proceed[-_]?always)$/i,
  reject: /^(reject|reject[-_]?once|deny|denied|no|decline|cancel|abort)$/i,
};

/**
 * The option that a reply selects: by kind first, then by id, then the closest one on the same side. A permission is
 * never granted by a rejection nor the other way round. "Once" falls back to a lasting grant only because the
 * agent offers nothing smaller; callers that do not want that look at `isFallback`.
 */
export function choosePermission(options: readonly PermissionOption[], reply: PermissionReply): PermissionChoice {
  const { exact, closest } = BY_KIND[reply];
  const ofKind = (kinds: PermissionKind[]): PermissionOption | undefined =>
    kinds.map((kind) => options.find((option) => option.kind === kind)).find((option) => option !== undefined);
  const byId = (wanted: PermissionReply): PermissionOption | undefined =>
    options.find((option) => option.kind === undefined && BY_ID[wanted].test(option.id));
  const precise = ofKind(exact) ?? byId(reply);
  if (precise) return { option: precise, isFallback: false };
  const near = ofKind(closest) ?? (reply === "reject" ? undefined : byId(reply === "once" ? "always" : "once"));
  return near ? { option: near, isFallback: true } : { isFallback: true };
}

/** The reply that selecting an option amounts to. */
export function replyOf(option: PermissionOption): PermissionReply | undefined {
  if (option.kind) return option.kind === "allow_once" ? "once" : option.kind === "allow_always" ? "always" : "reject";
  return (["once", "always", "reject"] as const).find((reply) => BY_ID[reply].test(option.id));
}

/** The answer that selects an option; `_meta` tells the reply that was asked for and whether it had to be bent. */
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

/** The answer when the turn was cancelled. */
export function permissionCancelled(): JsonObject {
  return { outcome: { outcome: "cancelled" } };
}
