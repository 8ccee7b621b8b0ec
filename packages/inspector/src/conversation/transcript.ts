/** Writes a conversation as Markdown. Also has the functions that the Markdown and the HTML file share. */

import { isObject, type JsonObject, objectOf, textOf } from "acp-http-client/internal";
import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";
import { nameOfSession } from "../journal/session.ts";
import type { ContentBlock, InstanceState, Item, SessionState, TerminalState, ToolItem } from "../journal/types.ts";
import { dateText } from "../text/clock.ts";
import { withoutColours } from "../text/colours.ts";
import { durationText } from "../text/duration.ts";
import { pretty } from "../text/pretty.ts";
import { commandOf, printedBy, restOfInput } from "./tool-text.ts";

/** A conversation to export. */
export interface Transcript {
  readonly instance: Pick<InstanceState, "serverId" | "agent" | "terminals">;
  readonly session: SessionState;
  readonly exportedAt: Date;
}

/** The facts that are listed above a transcript. */
export function factsOf({
  instance,
  session,
  exportedAt,
}: Transcript): readonly (readonly [name: string, text: string])[] {
  const { used, cost } = session.usage ?? {};
  const facts = [
    ["Agent", instance.agent],
    ["Instance", instance.serverId],
    ["Session", session.id],
    ["Folder", session.cwd],
    ["Tokens in use", used?.toLocaleString("en")],
    ["Cost", cost],
    ["Exported", timeText(exportedAt.getTime())],
  ] as const;
  return facts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const]));
}

/** The name of the file, without its extension. */
export function fileNameOf(session: SessionState): string {
  const words = nameOfSession(session).replace(/[^\p{L}\p{N}]+/gu, "-");
  return words.replace(/^-+|-+$/g, "").slice(0, 60) || "conversation";
}

/** A date and a time of day. */
export function timeText(atMs: number): string {
  const at = new Date(atMs);
  return `${dateText(at)} ${at.toTimeString().slice(0, 8)}`;
}

/** When something began, and how long it took. */
export function timesText(fromMs: number | undefined, toMs: number | undefined): string | undefined {
  if (fromMs === undefined) return undefined;
  return toMs === undefined ? timeText(fromMs) : `${timeText(fromMs)}, ${durationText(Math.max(0, toMs - fromMs))}`;
}

export function transcriptMarkdown(transcript: Transcript): string {
  const { session, instance } = transcript;
  const facts = factsOf(transcript).map(([name, text]) => `- ${name}: ${text}`);
  const parts = [`# ${oneLine(nameOfSession(session))}`, facts.join("\n")];
  for (const item of session.items) parts.push(markdownOf(item, instance.terminals));
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function markdownOf(item: Item, terminals: InstanceState["terminals"]): string {
  switch (item.type) {
    case "user":
      return paragraphs(heading("You", timesText(item.atMs, item.endedAtMs)), ...item.blocks.map(userBlock));
    case "agent":
      return paragraphs(heading("Agent", undefined), ...item.blocks.map(blockMarkdown));
    case "thought":
      return quoted(paragraphs("**Thought**", ...item.blocks.map(blockMarkdown)));
    case "tool":
      return toolMarkdown(item, terminals);
    case "plan":
      return paragraphs("**Plan**", item.entries.map(planEntry).join("\n"));
    case "notice":
      return `*${oneLine(item.text)}*`;
  }
}

function heading(who: string, times: string | undefined): string {
  return times === undefined ? `## ${who}` : `## ${who} (${times})`;
}

/** What a user has written is not Markdown. It becomes a quotation, which keeps its line breaks. */
function userBlock(block: ContentBlock): string {
  return block.type === "text" ? quoted(textOf(block.text) ?? "") : blockMarkdown(block);
}

function blockMarkdown(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return withoutColours(textOf(block.text) ?? "");
    case "image":
      return `![image](data:${textOf(block.mimeType) ?? ""};base64,${textOf(block.data) ?? ""})`;
    case "audio":
      return `*audio, ${textOf(block.mimeType) ?? "of an unknown type"}*`;
    case "resource_link":
      return `[${oneLine(textOf(block.title) ?? textOf(block.name) ?? "file")}](<${textOf(block.uri) ?? ""}>)`;
    case "resource": {
      const { uri, text } = objectOf(block.resource);
      return paragraphs(`\`${textOf(uri) ?? "file"}\``, typeof text === "string" ? fenced(text) : "");
    }
    default:
      return fenced(pretty(block), "json");
  }
}

function planEntry({ status, content }: JsonObject): string {
  return `- [${status === "completed" ? "x" : " "}] ${oneLine(String(content))}`;
}

function toolMarkdown(tool: ToolItem, terminals: InstanceState["terminals"]): string {
  const facts = [tool.kind, tool.status.replaceAll("_", " "), timesText(tool.startedAtMs, tool.endedAtMs)];
  const title = `### ${oneLine(tool.title)} (${facts.filter((fact) => fact !== undefined).join(", ")})`;
  return paragraphs(title, ...toolParts(tool, terminals).map(({ text, language }) => fenced(text, language)));
}

/** A part of a tool call: its input, its output, or a change to a file. */
export interface ToolPart {
  readonly text: string;
  readonly language?: string;
}

/** The input and the output of a tool call, as the conversation shows them. */
export function toolParts(tool: ToolItem, terminals: InstanceState["terminals"]): readonly ToolPart[] {
  const parts: ToolPart[] = [];
  const command = commandOf(tool.rawInput);
  const rest = restOfInput(tool.rawInput);
  if (command !== undefined) parts.push({ text: command, language: "sh" });
  if (rest !== undefined) parts.push({ text: pretty(rest), language: "json" });
  for (const content of tool.content) parts.push(contentPart(content, terminals));
  const own = terminals.get(tool.terminalId ?? "");
  if (own && !tool.content.some(({ terminalId }) => terminalId === tool.terminalId)) parts.push(terminalPart(own));
  else if (tool.content.length === 0 && tool.rawOutput !== undefined) {
    const printed = printedBy(tool.rawOutput);
    parts.push({ text: printed === undefined ? pretty(tool.rawOutput) : withoutColours(printed) });
  }
  return parts.filter(({ text }) => text !== "");
}

function contentPart(content: JsonObject, terminals: InstanceState["terminals"]): ToolPart {
  if (content.type === "diff") {
    const path = textOf(content.path) ?? "";
    const [before, after] = [textOf(content.oldText) ?? "", textOf(content.newText) ?? ""];
    const patch = createTwoFilesPatch(path, path, before, after, "", "", { headerOptions: FILE_HEADERS_ONLY });
    return { text: patch.trimEnd(), language: "diff" };
  }
  if (content.type === "terminal") {
    const terminal = terminals.get(textOf(content.terminalId) ?? "");
    return terminal ? terminalPart(terminal) : { text: "" };
  }
  const block = isObject(content.content) ? content.content : content;
  const text = textOf(block.text);
  return text === undefined ? { text: pretty(block), language: "json" } : { text: withoutColours(text) };
}

function terminalPart({ command, output, exit }: TerminalState): ToolPart {
  const lines = [command && `$ ${command}`, withoutColours(output).trimEnd(), exit && `[${exit}]`];
  return { text: lines.filter(Boolean).join("\n") };
}

function paragraphs(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

function quoted(text: string): string {
  return text.replace(/^/gm, "> ").replace(/ +$/gm, "");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Makes a code block whose fence is longer than any fence in the text. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}
