/** Formats the server's limits. */

import { objectOf } from "acp-http-client/internal";
import { durationText } from "../text/duration.ts";

/** The names and texts of all limits. */
export function limitTexts(health: unknown): readonly (readonly [name: string, text: string])[] {
  return Object.entries(objectOf(objectOf(health).limits)).map(([name, value]) => [labelOf(name), textOf(name, value)]);
}

const UNITS = /(Bytes|Ms)$/;

function labelOf(name: string): string {
  const words = name
    .replace(UNITS, "")
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function textOf(name: string, value: unknown): string {
  if (value === null) return "none";
  if (typeof value !== "number") return JSON.stringify(value);
  if (name.endsWith("Ms")) return durationText(value);
  return /(Bytes|Budget)$/.test(name) ? bytesText(value) : value.toLocaleString("en");
}

/** Limits are usually powers of two, so they are shown in binary units. */
function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [left, unit] = [bytes, 0];
  while (left >= 1024 && unit < units.length - 1) [left, unit] = [left / 1024, unit + 1];
  return `${Number(left.toFixed(1))} ${units[unit]}`;
}
