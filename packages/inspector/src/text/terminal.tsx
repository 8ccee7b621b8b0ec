/** What a program printed, as a terminal would show it. The terminal itself is loaded when there is something for it. */

import { useEffect, useRef, useState } from "react";
import { CopyButton } from "./copy.tsx";
import type { Run, Screen } from "./screen.ts";

/** What only a terminal understands. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for.
const CONTROL = /[\u001b\u009b\b]|\r(?!\n)/;

/** Whether a text is meant for a terminal. */
export function isForTerminal(text: string): boolean {
  return CONTROL.test(text);
}

interface Props {
  readonly output: string;
  readonly command?: string;
  readonly exit?: string | undefined;
}

/** How many lines are held and shown: the last ones. */
const HELD = 500;
/** What can be in that many lines; more is not taken in. */
const TAIL = 400_000;

export function Terminal({ output, command, exit }: Props): React.ReactNode {
  const lines = useScreen(output.length > TAIL ? output.slice(-TAIL) : output);
  const isCut = output.length > TAIL || lines.length >= HELD;
  const shown = (): string => lines.map((line) => line.map(({ text }) => text).join("")).join("\n");
  return (
    <div className="terminal-box">
      {/* biome-ignore lint/a11y/useSemanticElements: no fieldset; a name for what can be scrolled to. */}
      <pre
        className="terminal"
        role="group"
        aria-label={command ? `Output of ${command}` : "Output"}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        tabIndex={0}
      >
        {command && <span className="terminal-command">{`$ ${command}\n`}</span>}
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its place.
          <Line key={index} line={line} />
        ))}
        {exit && <span className="terminal-exit">{`[${exit}]`}</span>}
      </pre>
      <CopyButton text={() => (isCut ? output : shown())} />
      {isCut && <small className="muted">The last lines are shown; a copy has them all.</small>}
    </div>
  );
}

function Line({ line }: { readonly line: readonly Run[] }): React.ReactNode {
  return (
    <>
      {line.map(({ text, className, color, background }, index) =>
        className === "" && color === undefined && background === undefined ? (
          text
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a word is known by its place.
          <span key={index} className={className} style={{ color, background }}>
            {text}
          </span>
        ),
      )}
      {"\n"}
    </>
  );
}

type Lines = readonly (readonly Run[])[];

/** What was shown last, for outputs that come into view again and must be as tall as they were. */
const remembered = new Map<string, Lines>();
const REMEMBERED = 30;

/** The lines of an output; what is added to it is printed behind what is there. */
function useScreen(output: string): Lines {
  const [lines, setLines] = useState<Lines>(() => remembered.get(output) ?? plainLines(output));
  const printed = useRef<{ readonly screen: Screen; text: string }>(undefined);
  useEffect(() => {
    const known = remembered.get(output);
    if (known || !isForTerminal(output)) {
      setLines(known ?? plainLines(output));
      return undefined;
    }
    let isCurrent = true;
    const take = (screen: Screen): void => {
      if (!isCurrent) return;
      const shown = screen.lines();
      remembered.set(output, shown);
      for (const [oldest] of remembered) {
        if (remembered.size <= REMEMBERED) break;
        remembered.delete(oldest);
      }
      setLines(shown);
    };
    void import("./screen.ts").then(({ createScreen }) => {
      if (!isCurrent) return;
      if (printed.current && !output.startsWith(printed.current.text)) {
        printed.current.screen.dispose();
        printed.current = undefined;
      }
      printed.current ??= { screen: createScreen(HELD), text: "" };
      const { screen, text } = printed.current;
      printed.current.text = output;
      screen.print(output.slice(text.length), () => take(screen));
    });
    return () => {
      isCurrent = false;
    };
  }, [output]);
  useEffect(
    () => () => {
      printed.current?.screen.dispose();
      printed.current = undefined;
    },
    [],
  );
  return lines;
}

/** Lines that need no terminal; none where one is needed, until it is there. */
function plainLines(output: string): Lines {
  if (output === "" || isForTerminal(output)) return [];
  const lines = output.replace(/\r?\n$/, "").split(/\r?\n/);
  return lines.slice(-HELD).map((text) => [{ text, className: "", color: undefined, background: undefined }]);
}
