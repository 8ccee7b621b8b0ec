/** Code as lines of coloured words. Pure; the library knows the languages. */

import { common, createLowlight } from "lowlight";
import "../style/highlight.css";

/** The languages; those that are in use in most projects. */
export const LANGUAGES = common;
const lowlight = createLowlight(LANGUAGES);
/** Longer code than this is left plain, since to colour it would hold up the page. */
const LIMIT = 40_000;

/** Some words of one look. */
export interface Token {
  readonly text: string;
  /** Names of classes; empty for plain text. */
  readonly look: string;
}

/** The language of a file, by its name; `undefined` where it is not known. */
export function languageOf(path: string): string | undefined {
  const name = path.split("/").at(-1)?.toLowerCase() ?? "";
  const ending = name.includes(".") ? (name.split(".").at(-1) ?? "") : name;
  return lowlight.registered(ending) ? ending : undefined;
}

/** Code in lines, without their ends. */
export function tokenLines(text: string, language: string | undefined): readonly (readonly Token[])[] {
  const lines: Token[][] = [[]];
  const add = (part: string, look: string): void => {
    for (const [index, line] of part.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (line !== "") lines.at(-1)?.push({ text: line, look });
    }
  };
  const isKnown = language !== undefined && text.length <= LIMIT && lowlight.registered(language);
  if (!isKnown) {
    add(text, "");
    return lines;
  }
  const walk = (nodes: readonly HighlightNode[], look: string): void => {
    for (const node of nodes) {
      if (node.type === "text") add(node.value, look);
      if (node.type === "element") walk(node.children as readonly HighlightNode[], lookOf(node.properties.className));
    }
  };
  walk(lowlight.highlight(language, text).children as readonly HighlightNode[], "");
  return lines;
}

type HighlightNode =
  | { readonly type: "text"; readonly value: string }
  | {
      readonly type: "element";
      readonly properties: { readonly className?: unknown };
      readonly children: readonly unknown[];
    };

function lookOf(names: unknown): string {
  return Array.isArray(names) ? names.join(" ") : "";
}
