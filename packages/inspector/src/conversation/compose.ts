/** Helpers for composing a message. */

import { type JsonObject, textOf } from "acp-http-client/internal";

/** How many commands are offered at once. */
const OFFERED = 8;

/** The slash commands that start with the input. */
export function matchingCommands(text: string, commands: readonly JsonObject[]): readonly JsonObject[] {
  const typed = /^\/(\S*)$/.exec(text)?.[1]?.toLowerCase();
  if (typed === undefined) return [];
  return commands.filter(({ name }) => textOf(name)?.toLowerCase().startsWith(typed)).slice(0, OFFERED);
}

/** The path of an attached file: in its own folder, so that files of the same name do not collide. */
export function uploadPath(folder: string, id: string, name: string): string {
  const safe = name.replace(/[/\\\0]/g, "_").replace(/^\.+$/, "_") || "file";
  return `${folder.replace(/\/+$/, "")}/.sandbox-agent/uploads/${id}/${safe}`;
}

/** The content block for a file in the sandbox. */
export function resourceLink(file: { path: string; name: string; type: string; size: number }): JsonObject {
  const uri = `file://${file.path.split("/").map(encodeURIComponent).join("/")}`;
  return { type: "resource_link", uri, name: file.name, size: file.size, ...(file.type && { mimeType: file.type }) };
}
