/**
 * Converts a prompt and its attachments to the protocol's content blocks, and content blocks to this package's
 * {@link Content}. Reads no files.
 */

import { compact, type JsonObject, objectOf, textOf } from "../json.ts";
import { readMetadata, withMetadata } from "./meta.ts";

/** A file to attach to a message. */
export interface Attachment {
  /** The file's path in the sandbox: absolute, or relative to the session's directory. */
  readonly path: string;
  /** The file's media type. */
  readonly mime?: string;
  /** The name to show. */
  readonly filename?: string;
  /** The file's text. Embedded if the agent accepts that, otherwise linked. */
  readonly text?: string;
  /** The file's bytes in base64. Embedded if the agent accepts that, otherwise linked. */
  readonly data?: string;
}

/** A piece of content. */
export type Content =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mime: string; readonly uri?: string }
  | { readonly type: "audio"; readonly data: string; readonly mime: string }
  | { readonly type: "file"; readonly uri: string; readonly mime?: string; readonly filename?: string }
  | {
      readonly type: "embedded";
      readonly uri: string;
      readonly mime?: string;
      readonly filename?: string;
      readonly text?: string;
      readonly data?: string;
    }
  | { readonly type: "unknown"; readonly raw: unknown };

/** What the agent accepts in a prompt, other than text and links. */
export interface PromptAbilities {
  /** True if the agent accepts images. */
  readonly image?: boolean;
  /** True if the agent accepts audio. */
  readonly audio?: boolean;
  /** True if the agent accepts embedded files. */
  readonly embedded?: boolean;
}

/**
 * Returns the content blocks of a prompt: its text, then one block per attachment.
 *
 * @param directory - The directory that relative attachment paths are resolved against.
 * @throws TypeError when a path is relative and `directory` is not absolute.
 */
export function contentBlocksOf(
  message: string,
  attachments: readonly Attachment[] = [],
  directory = "/",
  abilities: PromptAbilities = {},
): JsonObject[] {
  const text = message === "" && attachments.length > 0 ? [] : [{ type: "text", text: message }];
  return [...text, ...attachments.map((attachment) => attachmentBlock(attachment, directory, abilities))];
}

function attachmentBlock(attachment: Attachment, directory: string, abilities: PromptAbilities): JsonObject {
  const { mime, filename, text, data } = attachment;
  const uri = fileUri(attachment.path, directory);
  const named = (block: JsonObject): JsonObject => withMetadata(block, compact({ filename }));
  if (data !== undefined && mime?.startsWith("image/") && abilities.image) {
    return named({ type: "image", data, mimeType: mime, uri });
  }
  if (data !== undefined && mime?.startsWith("audio/") && abilities.audio) {
    return named({ type: "audio", data, mimeType: mime });
  }
  if ((text !== undefined || data !== undefined) && abilities.embedded) {
    const resource = compact({ uri, mimeType: mime, text, blob: text === undefined ? data : undefined });
    return named({ type: "resource", resource });
  }
  const name = filename ?? decodeURIComponent(uri.slice(uri.lastIndexOf("/") + 1));
  return named(compact({ type: "resource_link", uri, name, mimeType: mime }));
}

/**
 * Returns the `file://` URI of a path. A `file://` URI is returned as it is.
 *
 * @throws TypeError when the path is relative and `directory` is not absolute.
 */
export function fileUri(path: string, directory = "/"): string {
  if (/^file:\/\//i.test(path)) return new URL(path).href;
  const absolute = path.startsWith("/") ? path : `${directory.replace(/\/+$/, "")}/${path}`;
  if (!absolute.startsWith("/")) throw new TypeError(`"${path}" is relative and no absolute directory is given`);
  const parts: string[] = [];
  for (const part of absolute.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `file:///${parts.map(encodeURIComponent).join("/")}`;
}

/** Converts a content block. An unknown block is kept as it is. */
export function contentOf(block: unknown): Content {
  const { type, text, data, uri, mimeType, resource, name } = objectOf(block);
  const mime = textOf(mimeType);
  const filename = readMetadata(block).filename;
  if (type === "text" && typeof text === "string") return { type, text };
  if (type === "image" && typeof data === "string") {
    return compact({ type: "image" as const, data, mime: mime ?? "application/octet-stream", uri: textOf(uri) });
  }
  if (type === "audio" && typeof data === "string") return { type, data, mime: mime ?? "application/octet-stream" };
  if (type === "resource_link" && typeof uri === "string") {
    return compact({ type: "file" as const, uri, mime, filename: filename ?? textOf(name) });
  }
  if (type === "resource") {
    const inner = objectOf(resource);
    return compact({
      type: "embedded" as const,
      uri: textOf(inner.uri) ?? "",
      mime: textOf(inner.mimeType),
      filename,
      text: textOf(inner.text),
      data: textOf(inner.blob),
    });
  }
  return { type: "unknown", raw: block };
}

/** Joins the text pieces of some content. */
export function plainText(content: readonly Content[]): string {
  return content.map((piece) => (piece.type === "text" ? piece.text : "")).join("");
}
