/** Content blocks: text, images, audio, files. */

import { objectOf, textOf } from "acp-http-client/internal";
import { lazy, Suspense, useState } from "react";
import type { ContentBlock } from "../journal/types.ts";
import { Code } from "../text/code.tsx";
import { withoutColours } from "../text/colours.ts";
import { Json } from "../text/json.tsx";
import { LongText } from "../text/long-text.tsx";
import { FileIcon } from "../view/icons.tsx";
import { CodeSourceContext } from "./code-source.ts";
import { splitMarkdown } from "./split-markdown.ts";

const Markdown = lazy(() => import("./markdown.tsx"));

/** The blocks of a user message. Its text is shown as written, not as Markdown. */
export function Blocks({ blocks }: { readonly blocks: readonly ContentBlock[] }): React.ReactNode {
  return blocks.map((block, index) =>
    block.type === "text" ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only appended.
      <LongText key={index} text={textOf(block.text) ?? ""} show={(text) => <p className="plain">{text}</p>} />
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only appended.
      <Block key={index} block={block} />
    ),
  );
}

/** The blocks of a thought. */
export function Thought({ blocks }: { readonly blocks: readonly ContentBlock[] }): React.ReactNode {
  return blocks.map((block, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only appended.
    <Block key={index} block={block} />
  ));
}

export function Block({ block }: { readonly block: ContentBlock }): React.ReactNode {
  switch (block.type) {
    case "text":
      return <Pieces text={textOf(block.text) ?? ""} />;
    case "image":
      return <img className="shown" alt="Attached to the message" src={dataUrl(block, "image/")} />;
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
            <LongText
              text={text}
              show={(part) => <Code className="json" text={part} language={endingOf(uri)} />}
              isCode
            />
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

/** The `data:` URL of an embedded image or sound. The page fetches nothing for it. */
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

/** How many pieces of a text are shown outside the virtual list. */
const SHOWN = 6;

/** Long Markdown outside the virtual list. Shows the last pieces, and earlier ones when the user asks for them. */
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
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces are only appended.
        <CodeSourceContext key={hidden + index} value={{ ...piece, source: () => text }}>
          <RichText text={piece.text} definitions={definitions} />
        </CodeSourceContext>
      ))}
    </>
  );
}

/** A piece of Markdown. Shown as plain text until the renderer is loaded. */
export function RichText({
  text,
  definitions,
}: {
  readonly text: string;
  readonly definitions: string;
}): React.ReactNode {
  const source = definitions === "" ? text : `${text}\n\n${definitions}\n`;
  const shown = withoutColours(source);
  const content = (
    <Suspense fallback={<p className="plain">{text}</p>}>
      <Markdown text={shown} />
    </Suspense>
  );
  // If control sequences were removed, positions in the shown text differ from those in the source.
  return shown === source ? content : <CodeSourceContext value={undefined}>{content}</CodeSourceContext>;
}
