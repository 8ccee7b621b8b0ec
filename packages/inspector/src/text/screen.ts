/**
 * Renders terminal output to lines of styled text, including overwritten lines and cursor movements. Uses a terminal
 * emulator without a display of its own, so that the page can show the result as ordinary text.
 */

import { type IBufferCell, type IBufferLine, Terminal } from "@xterm/headless";

/** The terminal's width. Lines that it wraps are joined again. */
const COLUMNS = 250;
const ROWS = 50;

/** A run of characters with the same style. */
export interface Run {
  readonly text: string;
  /** CSS class names. */
  readonly className: string;
  readonly color: string | undefined;
  readonly background: string | undefined;
}

/** The contents of a terminal. */
export interface Screen {
  /** Writes text. Calls `onDone` when the text has been processed. */
  print(text: string, onDone: () => void): void;
  /** The current lines. */
  lines(): readonly (readonly Run[])[];
  dispose(): void;
}

/** Makes a terminal that keeps this many lines that have scrolled out of it. */
export function createScreen(scrollback: number): Screen {
  const terminal = new Terminal({
    cols: COLUMNS,
    rows: ROWS,
    scrollback,
    convertEol: true,
    allowProposedApi: true,
  });
  return {
    print: (text, onDone) => terminal.write(text, onDone),
    lines() {
      const buffer = terminal.buffer.active;
      const cell = buffer.getNullCell();
      const lines: Run[][] = [];
      for (let row = 0; row < buffer.length; row += 1) {
        const line = buffer.getLine(row);
        if (!line) continue;
        const runs = runsOf(line, cell);
        const above = line.isWrapped ? lines.at(-1) : undefined;
        if (above) above.push(...runs);
        else lines.push(runs);
      }
      // Empty lines at the end of the screen are not shown.
      while (lines.length > 0 && lines.at(-1)?.length === 0) lines.pop();
      return lines;
    },
    dispose: () => terminal.dispose(),
  };
}

function runsOf(line: IBufferLine, cell: IBufferCell): Run[] {
  const runs: Run[] = [];
  let [text, key] = ["", ""];
  let style: Omit<Run, "text"> = PLAIN;
  const end = (): void => {
    if (text !== "") runs.push({ text, ...style });
    text = "";
  };
  const length = line.translateToString(true).length;
  // Wide characters take two cells, so the last column may be greater than the text's length. Blank cells at the end of
  // the line are left out.
  for (let column = 0; column < line.length && (column < length || !isBlank(line, column, cell)); column += 1) {
    line.getCell(column, cell);
    if (cell.getWidth() === 0) continue;
    const now = keyOf(cell);
    if (now !== key) {
      end();
      key = now;
      style = styleOf(cell);
    }
    text += cell.getChars() || " ";
  }
  end();
  return runs;
}

function isBlank(line: IBufferLine, column: number, cell: IBufferCell): boolean {
  for (let at = column; at < line.length; at += 1) if (line.getCell(at, cell)?.getChars()) return false;
  return true;
}

const PLAIN: Omit<Run, "text"> = { className: "", color: undefined, background: undefined };

function keyOf(cell: IBufferCell): string {
  if (cell.isAttributeDefault()) return "plain";
  const colours = [cell.getFgColorMode(), cell.getFgColor(), cell.getBgColorMode(), cell.getBgColor()];
  const marks = [cell.isBold(), cell.isDim(), cell.isItalic(), cell.isUnderline(), cell.isStrikethrough()];
  return [...colours, ...marks, cell.isInverse()].join();
}

function styleOf(cell: IBufferCell): Omit<Run, "text"> {
  if (cell.isAttributeDefault()) return PLAIN;
  const front = colourOf(cell.isFgRGB(), cell.isFgPalette(), cell.getFgColor());
  const back = colourOf(cell.isBgRGB(), cell.isBgPalette(), cell.getBgColor());
  const [ink, paper] = cell.isInverse() ? [back, front] : [front, back];
  const names = [
    cell.isBold() && "bold",
    cell.isDim() && "dim",
    cell.isItalic() && "italic",
    cell.isUnderline() && "underline",
    cell.isStrikethrough() && "strike",
    cell.isInverse() && "inverse",
  ];
  return { className: names.filter(Boolean).join(" "), color: ink, background: paper };
}

/** The CSS colour of a cell. The 16 ANSI colours come from the page's style sheet; the others have fixed values. */
function colourOf(isRgb: boolean, isPalette: boolean, value: number): string | undefined {
  if (isRgb) return `#${value.toString(16).padStart(6, "0")}`;
  if (!isPalette) return undefined;
  if (value < 16) return `var(--ansi-${value})`;
  if (value >= 232) {
    const grey = 8 + (value - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const step = (part: number): number => (part === 0 ? 0 : 55 + part * 40);
  const cube = value - 16;
  return `rgb(${step(Math.floor(cube / 36))} ${step(Math.floor(cube / 6) % 6)} ${step(cube % 6)})`;
}
