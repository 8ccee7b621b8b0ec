/** Pieces of content: text, images, sounds, files. */

import { lazy, Suspense } from "react";
import type { ContentBlock } from "../journal/types.ts";
import { objectOf, textOf } from "../json.ts";
import { FileIcon } from "../view/icons.tsx";
import { splitMarkdown } from "./split.ts";

const Markdown = lazy(() => import("./markdown.tsx"));

/** Longer pieces than this are shown as they are; to make markdown of them would hold up the page. */
const MARKDOWN_LIMIT = 20_000;

interface Props {
  readonly blocks: readonly ContentBlock[];
  readonly look: "plain" | "markdown";
}

export function Blocks({ blocks, look }: Props): React.ReactNode {
  return blocks.map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only ever added at the end.
    <Block key={index} block={block} look={look} />
  ));
}

function Block({ block, look }: { readonly block: ContentBlock; readonly look: Props["look"] }): React.ReactNode {
  switch (block.type) {
    case "text": {
      const text = textOf(block.text) ?? "";
      return look === "plain" ? <p className="plain">{text}</p> : <RichText text={text} />;
    }
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
      return (
        <details className="resource">
          <summary>
            <FileChip uri={textOf(resource.uri)} name={undefined} />
          </summary>
          {text !== undefined && <pre>{text}</pre>}
        </details>
      );
    }
    default:
      return <pre className="json">{JSON.stringify(block, null, 2)}</pre>;
  }
}

/** Agents' images are data, not addresses: nothing is fetched for them. */
function dataUrl(block: ContentBlock, family: "image/" | "audio/"): string | undefined {
  const type = textOf(block.mimeType);
  const data = textOf(block.data);
  return data !== undefined && type?.startsWith(family) ? `data:${type};base64,${data}` : undefined;
}

function FileChip({
  uri,
  name,
}: {
  readonly uri: string | undefined;
  readonly name: string | undefined;
}): React.ReactNode {
  return (
    <span className="file-chip" title={uri}>
      <FileIcon /> {name ?? uri?.split("/").at(-1) ?? "file"}
    </span>
  );
}

/** Markdown in pieces, so that only the piece that grows is read again. */
function RichText({ text }: { readonly text: string }): React.ReactNode {
  return splitMarkdown(text).map((piece, index) =>
    piece.length > MARKDOWN_LIMIT ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only ever added at the end.
      <p key={index} className="plain">
        {piece}
      </p>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only ever added at the end.
      <Suspense key={index} fallback={<p className="plain">{piece}</p>}>
        <Markdown text={piece} />
      </Suspense>
    ),
  );
}
