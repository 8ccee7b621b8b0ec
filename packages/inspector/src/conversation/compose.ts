/** Pure functions for composing a message. */

import { type JsonObject, objectOf, textOf } from "acp-http-client/internal";

/** How many commands are offered at once. */
const OFFERED = 8;

/** The slash commands that start with the input. */
export function matchingCommands(text: string, commands: readonly JsonObject[]): readonly JsonObject[] {
  const typed = /^\/(\S*)$/.exec(text)?.[1]?.toLowerCase();
  if (typed === undefined) return [];
  return commands.filter(({ name }) => textOf(name)?.toLowerCase().startsWith(typed)).slice(0, OFFERED);
}

/** The path to upload a file to. Each file has its own folder, so that files of the same name do not collide. */
export function uploadPath(folder: string, id: string, name: string): string {
  const safe = name.replace(/[/\\\0]/g, "_").replace(/^\.+$/, "_") || "file";
  return `${folder.replace(/\/+$/, "")}/.sandbox-agent/uploads/${id}/${safe}`;
}

/** The image formats that models read. Images in other formats are sent as files. */
const IMAGES: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/** Larger images are sent as files: models refuse them, and the size of a message is limited. */
const IMAGE_BYTES = 5 * 1024 * 1024;
/** How large the images of one message may be together. */
const ALL_IMAGES_BYTES = 20 * 1024 * 1024;

/** True if the agent has said in its response to `initialize` that it accepts images in a prompt. */
export function acceptsImages(initialized: JsonObject | undefined): boolean {
  const { promptCapabilities } = objectOf(initialized?.agentCapabilities);
  return objectOf(promptCapabilities).image === true;
}

/** True if a file can be sent as an image. `others` is the size of the message's other images. */
export function isImageToSend({ type, size }: { readonly type: string; readonly size: number }, others = 0): boolean {
  return IMAGES.includes(type) && size > 0 && size <= IMAGE_BYTES && others + size <= ALL_IMAGES_BYTES;
}

/** The content block for an image. */
export function imageBlock(dataUrl: string, mimeType: string): JsonObject {
  return { type: "image", mimeType, data: dataUrl.slice(dataUrl.indexOf(",") + 1) };
}

/** The content block for a file in the sandbox. */
export function resourceLink(file: { path: string; name: string; type: string; size: number }): JsonObject {
  const uri = `file://${file.path.split("/").map(encodeURIComponent).join("/")}`;
  return { type: "resource_link", uri, name: file.name, size: file.size, ...(file.type && { mimeType: file.type }) };
}
