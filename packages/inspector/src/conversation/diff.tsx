/** The changes to a file, line by line, with some unchanged lines around them. */

import type { Language } from "@codemirror/language";
import { structuredPatch } from "diff";
import { useMemo } from "react";
import { languageOfFile, type Token, tokenLines } from "../text/highlight.ts";
import { Tokens, useLanguage } from "../text/highlighted.tsx";

interface Props {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** How long to search for the smallest difference. After that, every line counts as changed. */
const TIMEOUT_MS = 60;
/** How many lines are shown. */
const SHOWN = 400;

interface DiffLine {
  readonly sign: string;
  readonly number: number | undefined;
  readonly tokens: readonly Token[];
}

export default function Diff({ path, before, after }: Props): React.ReactNode {
  const language = useLanguage(languageOfFile(path));
  const { lines, counts } = useMemo(
    () => changesOf({ path, before, after }, language),
    [path, before, after, language],
  );
  return (
    <figure className="diff">
      <figcaption>
        {path} <span className="diff-count">{counts}</span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard. */}
      <pre tabIndex={0}>
        {lines.slice(0, SHOWN).map(({ sign, number, tokens }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is identified by its position.
          <span key={index} data-sign={sign}>
            <span className="diff-number">{number ?? ""}</span>
            {`${sign} `}
            <Tokens line={tokens} end={"\n"} />
          </span>
        ))}
      </pre>
      {lines.length > SHOWN && <p className="muted small">and {lines.length - SHOWN} more lines</p>}
    </figure>
  );
}

function changesOf(
  { path, before, after }: Props,
  language: Language | undefined,
): { lines: readonly DiffLine[]; counts: string } {
  const options = { context: 3, timeout: TIMEOUT_MS };
  const hunks = structuredPatch(path, path, before, after, "", "", options)?.hunks ?? [whole(before, after)];
  const [old, now] = [tokenLines(before, language), tokenLines(after, language)];
  const lines: DiffLine[] = [];
  for (const [index, hunk] of hunks.entries()) {
    if (index > 0) lines.push({ sign: "⋯", number: undefined, tokens: [] });
    let [oldAt, newAt] = [hunk.oldStart, hunk.newStart];
    for (const line of hunk.lines) {
      const sign = line[0] ?? " ";
      if (sign === "\\") continue;
      const number = sign === "-" ? oldAt : newAt;
      const tokens = (sign === "-" ? old[oldAt - 1] : now[newAt - 1]) ?? [{ text: line.slice(1), kinds: "" }];
      lines.push({ sign, number, tokens });
      if (sign !== "+") oldAt += 1;
      if (sign !== "-") newAt += 1;
    }
  }
  const count = (sign: string): number => lines.filter((line) => line.sign === sign).length;
  return { lines, counts: `+${count("+")} −${count("-")}` };
}

/** A hunk that removes all old lines and adds all new ones. */
function whole(before: string, after: string): { oldStart: number; newStart: number; lines: string[] } {
  const signed = (text: string, sign: string): string[] =>
    text === "" ? [] : text.split("\n").map((line) => sign + line);
  return { oldStart: 1, newStart: 1, lines: [...signed(before, "-"), ...signed(after, "+")] };
}
