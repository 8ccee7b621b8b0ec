/** Reads the command and the text output from a tool call's raw input and output. */

import { type JsonObject, objectOf, textOf } from "acp-http-client/internal";

/** Finds the command in a tool's input. */
export function commandOf(rawInput: unknown): string | undefined {
  const { command } = objectOf(rawInput);
  if (Array.isArray(command) && command.every((part) => typeof part === "string")) return command.join(" ");
  return textOf(command);
}

/** Returns the tool's input without the command; `undefined` if nothing is left. */
export function restOfInput(rawInput: unknown): unknown {
  if (commandOf(rawInput) === undefined) return isEmpty(rawInput) ? undefined : rawInput;
  const { command: _, ...rest } = objectOf(rawInput);
  return isEmpty(rest) ? undefined : rest;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

/** The fields in which agents put a program's output. */
const PRINTED = ["formatted_output", "aggregated_output", "output", "stdout"] as const;

/** Finds what a program has printed in a tool's output. */
export function printedBy(rawOutput: unknown): string | undefined {
  if (typeof rawOutput === "string") return rawOutput;
  const fields: JsonObject = objectOf(rawOutput);
  const printed = PRINTED.map((name) => textOf(fields[name])).find((text) => text !== undefined);
  const failed = textOf(fields.stderr);
  return failed ? `${printed ?? ""}${failed}` : printed;
}
