/** Pieces of content: text, images, sounds, files. */

import { objectOf, textOf } from "acp-http-client/internal";
import { lazy, Suspense, useState } from "react";
import type { ContentBlock } from "../journal/types.ts";
import { Code } from "../text/code.tsx";
import { Json } from "../text/json.tsx";
import { LongText } from "../text/long-text.tsx";
import { FileIcon } from "../view/icons.tsx";
import { splitMarkdown } from "./split-markdown.ts";

const Markdown = lazy(() => import("./markdown.tsx"));

/** Blocks of a message of the user, whose text is shown as it was written. */
export function Blocks({ blocks }: { readonly blocks: readonly ContentBlock[] }): React.ReactNode {
  return blocks.map((block, index) =>
    block.type === "text" ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end.
      <LongText key={index} text={textOf(block.text) ?? ""} show={(text) => <p className="plain">{text}</p>} />
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end.
      <Block key={index} block={block} />
    ),
  );
}

/** What an agent said to itself. */
export function Thought({ blocks }: { readonly blocks: readonly ContentBlock[] }): React.ReactNode {
  return blocks.map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end.
    <Block key={index} block={block} />
  ));
}

export function Block({ block }: { readonly block: ContentBlock }): React.ReactNode {
  switch (block.type) {
    case "text":
      return <Pieces text={textOf(block.text) ?? ""} />;
    case "image":
      return <img className="shown" alt="From the conversation" src={dataUrl(block, "image/")} />;
    case "audio":
      // biome-ignore lint/a11y/useMediaCaption: the protocol has no captions to show.
      return <audio controls src={dataUrl(block, "audio/")} />;
    case "resource_link":
      return <FileChip uri={textOf(block.uri)} name={textOf(block.title) ?? textOf(block.name)} />;
    case "resource": {
      const resource = objectOf(block.resource);
      const text = textOf(resource.text);
      const uri = textOf(resource.uri);
      return (
        <details className="resource">
          <summary>
            <FileChip uri={uri} name={undefined} />
          </summary>
          {text !== undefined && (
            <LongText text={text} show={(part) => <Code className="json" text={part} language={endingOf(uri)} />} />
          )}
        </details>
      );
    }
    default:
      return <Json value={block} />;
  }
}

function endingOf(uri: string | undefined): string | undefined {
  return /\.(\w+)$/.exec(uri ?? "")?.[1]?.toLowerCase();
}

/** Agents' images are data, not addresses: nothing is fetched for them. */
function dataUrl(block: ContentBlock, family: "image/" | "audio/"): string | undefined {
  const type = textOf(block.mimeType);
  const data = textOf(block.data);
  return data !== undefined && type?.startsWith(family) ? `data:${type};base64,${data}` : undefined;
}

interface FileChipProps {
  readonly uri: string | undefined;
  readonly name: string | undefined;
}

function FileChip({ uri, name }: FileChipProps): React.ReactNode {
  return (
    <span className="file-chip" title={uri}>
      <FileIcon /> {name ?? uri?.split("/").at(-1) ?? "file"}
    </span>
  );
}

/** How many pieces of a text are shown where it is no list of rows. */
const SHOWN = 6;

/** Markdown of any length in one place: its last pieces, the earlier ones on request. */
function Pieces({ text }: { readonly text: string }): React.ReactNode {
  const [shown, setShown] = useState(SHOWN);
  const { pieces, definitions } = splitMarkdown(text);
  const hidden = Math.max(0, pieces.length - shown);
  return (
    <>
      {hidden > 0 && (
        <button type="button" className="quiet" onClick={() => setShown(shown + SHOWN * 2)}>
          Show earlier
        </button>
      )}
      {pieces.slice(hidden).map((piece, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only ever added at the end.
        <RichText key={hidden + index} text={piece.text} definitions={definitions} />
      ))}
    </>
  );
}

/** Colours of a terminal that an agent quotes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for.
const COLOURS = /\u001b\[[0-9;]*m/g;

/** A piece of markdown; its plain text until the library is there. */
export function RichText({
  text,
  definitions,
}: {
  readonly text: string;
  readonly definitions: string;
}): React.ReactNode {
  return (
    <Suspense fallback={<p className="plain">{text}</p>}>
      <Markdown text={(definitions === "" ? text : `${text}\n\n${definitions}\n`).replace(COLOURS, "")} />
    </Suspense>
  );
}
