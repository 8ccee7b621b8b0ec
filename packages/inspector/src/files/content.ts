/** What a file is, as far as this page can show it. */

export type Content =
  | { readonly kind: "text"; readonly text: string; readonly blob: Blob }
  | { readonly kind: "image"; readonly blob: Blob }
  | { readonly kind: "binary"; readonly reason: string; readonly blob: Blob };

/** Longer texts than this are not for a text field. */
const TEXT_LIMIT = 2_000_000;

const IMAGES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  svg: "image/svg+xml",
};

export function nameOf(path: string): string {
  return path.split("/").at(-1) || path;
}

/** Looks at the bytes, and at the name only for pictures. */
export async function contentOf(path: string, blob: Blob): Promise<Content> {
  const type = IMAGES[nameOf(path).split(".").at(-1)?.toLowerCase() ?? ""];
  if (type !== undefined) return { kind: "image", blob: new Blob([blob], { type }) };
  if (blob.size > TEXT_LIMIT) return { kind: "binary", reason: "Too long to show here. It can be downloaded.", blob };
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await blob.arrayBuffer());
    if (!text.includes("\0")) return { kind: "text", text, blob };
  } catch {
    // Not UTF-8, so not a text that could be saved again as it was.
  }
  return { kind: "binary", reason: "Not text. It can be downloaded.", blob };
}

/** What ends the lines of a text: two characters only where all lines do; else one, and the other is kept as it is. */
export function separatorOf(text: string): "\n" | "\r\n" {
  return text.includes("\r\n") && !/(^|[^\r])\n/.test(text) ? "\r\n" : "\n";
}
