/** Splits code into lines of tokens. Uses the same grammars as the editor. */

import { type Language, LanguageDescription } from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import { highlightCode, tagHighlighter } from "@lezer/highlight";
import { TOKEN_STYLES } from "./token-styles.ts";

/** How many characters of code are highlighted at most: parsing more would block the page. */
const LIMIT = 40_000;

/** A piece of code that is shown in one style. */
export interface Token {
  readonly text: string;
  /** Keys of {@link TOKEN_STYLES}, separated by spaces; empty for plain text. */
  readonly kinds: string;
}

const highlighter = tagHighlighter(Object.entries(TOKEN_STYLES).map(([kind, { tag }]) => ({ tag, class: kind })));

/** Finds the language with this name, alias or file extension. */
export function findLanguage(name: string): LanguageDescription | undefined {
  const named = LanguageDescription.matchLanguageName(languages, name, false);
  return named ?? LanguageDescription.matchFilename(languages, `file.${name}`) ?? undefined;
}

/** Finds the language of a file by the file's name. */
export function languageOfFile(path: string): LanguageDescription | undefined {
  return LanguageDescription.matchFilename(languages, path.split("/").at(-1) ?? "") ?? undefined;
}

/** Splits code into lines of tokens, without line breaks. If the language is `undefined`, the tokens are plain text. */
export function tokenLines(text: string, language: Language | undefined): readonly (readonly Token[])[] {
  if (language === undefined || text.length > LIMIT) {
    return text.split("\n").map((line) => (line === "" ? [] : [{ text: line, kinds: "" }]));
  }
  const lines: Token[][] = [[]];
  highlightCode(
    text,
    language.parser.parse(text),
    highlighter,
    (part, kinds) => lines.at(-1)?.push({ text: part, kinds }),
    () => lines.push([]),
  );
  return lines;
}
