/** The output of a program, as a terminal would show it. The terminal emulator is loaded when it is first needed. */

import { useEffect, useRef, useState } from "react";
import { CopyButton } from "./copy.tsx";
import type { Run, Screen } from "./screen.ts";

/** Matches control characters that need a terminal emulator. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the regex looks for control characters.
const CONTROL = /[\u001b\u009b\b]|\r(?!\n)/;

/** True if a text contains control characters for a terminal. */
export function isForTerminal(text: string): boolean {
  return CONTROL.test(text);
}

interface Props {
  readonly output: string;
  readonly command?: string;
  readonly exit?: string | undefined;
}

/** How many lines are shown: the last ones. */
const SHOWN_LINES = 500;
/** How many characters at the end of the output are processed, which is enough for that many lines. */
const TAIL = 400_000;

export function Terminal({ output, command, exit }: Props): React.ReactNode {
  const lines = useScreen(output.length > TAIL ? output.slice(-TAIL) : output);
  const isCut = output.length > TAIL || lines.length >= SHOWN_LINES;
  const shown = (): string => lines.map((line) => line.map(({ text }) => text).join("")).join("\n");
  return (
    <div className="terminal-box">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is wrong here; the scrollable area needs a name. */}
      <pre
        className="terminal"
        role="group"
        aria-label={command ? `Output of ${command}` : "Output"}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard.
        tabIndex={0}
      >
        {command && <span className="terminal-command">{`$ ${command}\n`}</span>}
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is identified by its position.
          <Line key={index} line={line} />
        ))}
        {exit && <span className="terminal-exit">{`[${exit}]`}</span>}
      </pre>
      <CopyButton text={() => (isCut ? output : shown())} />
      {isCut && <small className="muted">Only the last lines are shown. Copy copies everything.</small>}
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
          // biome-ignore lint/suspicious/noArrayIndexKey: a run is identified by its position.
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

/** Recently rendered outputs, so that an output that scrolls back into view has its full height at once. */
const remembered = new Map<string, Lines>();
const REMEMBERED = 30;

/** Renders an output to lines. When the output grows, only the new part is written to the emulator. */
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
      printed.current ??= { screen: createScreen(SHOWN_LINES), text: "" };
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

/** The lines of an output without control characters. An output with them has no lines until the emulator is loaded. */
function plainLines(output: string): Lines {
  if (output === "" || isForTerminal(output)) return [];
  const lines = output.replace(/\r?\n$/, "").split(/\r?\n/);
  return lines.slice(-SHOWN_LINES).map((text) => [{ text, className: "", color: undefined, background: undefined }]);
}
