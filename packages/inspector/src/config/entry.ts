/** Converts configuration entries to form values and back. Fields that the form does not show are preserved. */

import { isObject, type JsonObject, listOf, objectOf, textOf } from "acp-http-client/internal";

/** A field of a form. */
export interface FieldSpec {
  readonly name: string;
  readonly label: string;
  readonly control: "text" | "lines" | "pairs" | "choice";
  readonly choices?: readonly string[];
  readonly hint?: string;
}

const LOCAL: readonly FieldSpec[] = [
  { name: "command", label: "Command", control: "text" },
  { name: "args", label: "Arguments", control: "lines", hint: "one per line" },
  { name: "env", label: "Environment", control: "pairs", hint: "NAME=value, one per line" },
  { name: "cwd", label: "Folder", control: "text" },
];
const REMOTE: readonly FieldSpec[] = [
  { name: "url", label: "URL", control: "text" },
  { name: "transport", label: "Transport", control: "choice", choices: ["", "http", "sse"] },
  { name: "headers", label: "Headers", control: "pairs", hint: "Name=value, one per line" },
  { name: "bearerTokenEnvVar", label: "Token variable", control: "text" },
];
const SKILLS: readonly FieldSpec[] = [
  { name: "source", label: "Source", control: "text", hint: "owner/repository, URL or path" },
  { name: "ref", label: "Branch, tag or commit", control: "text" },
  { name: "subpath", label: "Subfolder", control: "text" },
  { name: "skills", label: "Only these skills", control: "lines", hint: "one per line" },
];

/** The form fields for a type of entry. */
export function fieldsOf(kind: "mcp" | "skills", type: string): readonly FieldSpec[] {
  if (kind === "skills") return SKILLS;
  return type === "remote" ? REMOTE : LOCAL;
}

export function typesOf(kind: "mcp" | "skills"): readonly string[] {
  return kind === "mcp" ? ["local", "remote"] : ["github", "git", "local"];
}

/** A value as shown in the form. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join("\n");
  if (isObject(value)) {
    return Object.entries(value)
      .map(([name, text]) => `${name}=${String(text)}`)
      .join("\n");
  }
  return value === undefined || value === null ? "" : String(value);
}

/** The value of a form field; `undefined` if it is empty. */
export function readValue(control: FieldSpec["control"], text: string): unknown {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  switch (control) {
    case "lines":
      return lines.length > 0 ? lines : undefined;
    case "pairs":
      return lines.length > 0 ? Object.fromEntries(lines.map(pairOf)) : undefined;
    case "text":
    case "choice":
      return text.trim() === "" ? undefined : text.trim();
  }
}

function pairOf(line: string): [string, string] {
  const cut = line.indexOf("=");
  return cut < 0 ? [line.trim(), ""] : [line.slice(0, cut).trim(), line.slice(cut + 1)];
}

/** The part of an entry that the form edits; for skills, the first source. */
export function editedPart(kind: "mcp" | "skills", entry: unknown): JsonObject {
  return kind === "mcp" ? objectOf(entry) : objectOf(listOf(objectOf(entry).sources)[0]);
}

/** Replaces the edited part of an entry. */
export function withPart(kind: "mcp" | "skills", entry: unknown, part: JsonObject): JsonObject {
  if (kind === "mcp") return part;
  return { ...objectOf(entry), sources: [part, ...listOf(objectOf(entry).sources).slice(1)] };
}

/** A one-line summary of an entry. */
export function summaryOf(entry: unknown): string {
  const { type, command, args, url, sources } = objectOf(entry);
  if (Array.isArray(sources)) {
    return sources.map((source) => `${textOf(objectOf(source).type)}: ${textOf(objectOf(source).source)}`).join(", ");
  }
  const words = [shownValue(command).replaceAll("\n", " "), shownValue(args).replaceAll("\n", " "), shownValue(url)];
  return [textOf(type), words.filter(Boolean).join(" ")].filter(Boolean).join(": ");
}
