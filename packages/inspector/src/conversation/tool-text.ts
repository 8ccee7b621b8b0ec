/** What went into a tool and came out of it, where that is a command and a text, as it is with most agents. Pure. */

import { type JsonObject, objectOf, textOf } from "acp-http-client/internal";

/** The command in what a tool was given. */
export function commandOf(rawInput: unknown): string | undefined {
  const { command } = objectOf(rawInput);
  if (Array.isArray(command) && command.every((part) => typeof part === "string")) return command.join(" ");
  return textOf(command);
}

/** What a tool was given beside the command; `undefined` where that is nothing. */
export function restOfInput(rawInput: unknown): unknown {
  if (commandOf(rawInput) === undefined) return isEmpty(rawInput) ? undefined : rawInput;
  const { command: _, ...rest } = objectOf(rawInput);
  return isEmpty(rest) ? undefined : rest;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

/** Names that agents have for what a program printed. */
const PRINTED = ["formatted_output", "aggregated_output", "output", "stdout"] as const;

/** The text in what came out of a tool. */
export function printedBy(rawOutput: unknown): string | undefined {
  if (typeof rawOutput === "string") return rawOutput;
  const fields: JsonObject = objectOf(rawOutput);
  const printed = PRINTED.map((name) => textOf(fields[name])).find((text) => text !== undefined);
  const failed = textOf(fields.stderr);
  return failed ? `${printed ?? ""}${failed}` : printed;
}
