/** Makes a readable message of an error that an agent has sent. */

import { isObject } from "../json.ts";

/** The most characters to quote of error data in which no text is found. */
const MAX_QUOTED = 500;

/** The keys that agents use for the text of an error, most specific first. */
const TEXT_KEYS = ["details", "detail", "message", "reason", "error"] as const;

/**
 * Returns the message of an agent's error. Many agents put a general phrase into the message and the cause into the
 * data; the result has both.
 */
export function agentErrorMessage(message: string, data: unknown): string {
  const said = textIn(data) ?? quoted(data);
  if (said === undefined || message.includes(said)) return message;
  return said.includes(message) ? said : `${message}: ${said}`;
}

function textIn(data: unknown): string | undefined {
  if (typeof data === "string") return data === "" ? undefined : data;
  if (!isObject(data)) return undefined;
  for (const key of TEXT_KEYS) {
    const found = textIn(data[key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function quoted(data: unknown): string | undefined {
  if (!isObject(data) || Object.keys(data).length === 0) return undefined;
  const text = JSON.stringify(data);
  return text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
}
