/** What the server says when it says no, in words for people. */

import { objectOf, textOf } from "../json.ts";

/** A refusal of the server, or no answer at all (`status` 0). */
export class ServerProblem extends Error {
  override name = "ServerProblem";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

/** Reads a problem document; the text itself where there is none. */
export function problemOf(status: number, text: string): ServerProblem {
  const { type, title, detail } = objectIn(text);
  const code = typeof type === "string" ? (type.split(":").at(-1) ?? "") : `http_${status}`;
  const said = [detail, title].find((part) => typeof part === "string" && part !== "");
  return new ServerProblem(status, code, typeof said === "string" ? said : text.slice(0, 300) || `HTTP ${status}`);
}

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Whatever was thrown, as a sentence: the server's own where it said one. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { detail } = objectOf("problem" in error ? error.problem : undefined);
  return textOf(detail) ?? error.message;
}
