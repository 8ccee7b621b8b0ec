/**
 * Builds tar archives in memory. Supports only what an upload needs: regular files, with pax headers for long names.
 */

/** A file to pack. */
export interface PackedFile {
  /** The path of the file in the archive, separated by `/`. */
  readonly path: string;
  /** The content of the file. */
  readonly content: string | Uint8Array;
  /** The permissions of the file. Default: 0o644. */
  readonly mode?: number;
}

const BLOCK = 512;
const encoder = new TextEncoder();

/** Packs files into an archive, and yields it in chunks. */
export function* tarOf(files: Iterable<PackedFile>): Generator<Uint8Array> {
  for (const { path, content, mode } of files) {
    const name = path.replace(/^\.?\/+/, "");
    const bytes = typeof content === "string" ? encoder.encode(content) : content;
    if (encoder.encode(name).length > 100) yield* entry("pax", paxRecord("path", name), "x", 0o644);
    yield* entry(name, bytes, "0", mode ?? 0o644);
  }
  yield new Uint8Array(BLOCK * 2);
}

function* entry(name: string, bytes: Uint8Array, type: string, mode: number): Generator<Uint8Array> {
  const header = new Uint8Array(BLOCK);
  const write = (text: string, offset: number, length: number): void =>
    header.set(encoder.encode(text).subarray(0, length), offset);
  write(name, 0, 100);
  write(octal(mode, 8), 100, 8);
  write(octal(0, 8), 108, 8);
  write(octal(0, 8), 116, 8);
  write(octal(bytes.length, 12), 124, 12);
  write(octal(Math.floor(Date.now() / 1000), 12), 136, 12);
  write("        ", 148, 8);
  write(type, 156, 1);
  write("ustar\u000000", 257, 8);
  write(
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    ),
    148,
    8,
  );
  header[155] = 0x20;
  yield header;
  yield bytes;
  const rest = bytes.length % BLOCK;
  if (rest > 0) yield new Uint8Array(BLOCK - rest);
}

function octal(value: number, width: number): string {
  return `${value.toString(8).padStart(width - 1, "0")}\0`;
}

/** A pax record starts with its own length, including the digits of that length. */
function paxRecord(key: string, value: string): Uint8Array {
  const tail = ` ${key}=${value}\n`;
  const bare = encoder.encode(tail).length;
  let length = bare + String(bare).length;
  if (bare + String(length).length !== length) length = bare + String(length).length;
  return encoder.encode(`${length}${tail}`);
}
