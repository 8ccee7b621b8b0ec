/** Determines how a file is shown: as text, as an image, or only as a download. */

export type Content =
  | { readonly kind: "text"; readonly text: string; readonly blob: Blob }
  | { readonly kind: "image"; readonly blob: Blob }
  | { readonly kind: "binary"; readonly reason: string; readonly blob: Blob };

/** Longer texts are not opened in the editor. */
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

/** Images are recognised by the name, text by the bytes. */
export async function contentOf(path: string, blob: Blob): Promise<Content> {
  const type = IMAGES[nameOf(path).split(".").at(-1)?.toLowerCase() ?? ""];
  if (type !== undefined) return { kind: "image", blob: new Blob([blob], { type }) };
  if (blob.size > TEXT_LIMIT) return { kind: "binary", reason: "Too long to show. Download it instead.", blob };
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await blob.arrayBuffer());
    if (!text.includes("\0")) return { kind: "text", text, blob };
  } catch {
    // The file is not UTF-8, so the editor could not save the unchanged parts as they were.
  }
  return { kind: "binary", reason: "Not a text file. Download it instead.", blob };
}

/** The line ending of a text: CRLF if all lines end with it, otherwise LF. In the latter case, CRs are kept as text. */
export function separatorOf(text: string): "\n" | "\r\n" {
  return text.includes("\r\n") && !/(^|[^\r])\n/.test(text) ? "\r\n" : "\n";
}
