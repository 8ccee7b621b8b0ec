/**
 * Writes a conversation to one HTML file that needs no other files. React escapes what agents and users have written,
 * so HTML in it is shown as text. The file's content security policy also forbids scripts and anything from elsewhere.
 */

import { objectOf, textOf } from "acp-http-client/internal";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { nameOfSession } from "../journal/session.ts";
import type { ContentBlock, InstanceState, Item, ToolItem } from "../journal/types.ts";
import { withoutColours } from "../text/colours.ts";
import { pretty } from "../text/pretty.ts";
import { remarkLineBreaks } from "./line-breaks.ts";
import { factsOf, type ToolPart, type Transcript, timesText, toolParts } from "./transcript.ts";

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#dde1e7, #343a46); --muted: light-dark(#5a6372, #a3abb9);
  --panel: light-dark(#f5f6f8, #1c1f26); --you: light-dark(#e8edfd, #252f4d);
  --good: light-dark(#e2f4e7, #1a3424); --bad: light-dark(#fdeceb, #432220); }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem;
  color: light-dark(#1b1f27, #e6e8ec); background: light-dark(#ffffff, #15171c); overflow-wrap: anywhere; }
pre, code { font-family: ui-monospace, monospace; font-size: 0.86em; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 0.6rem 0.8rem;
  overflow: auto; }
.you { background: var(--you); border-radius: 12px; padding: 0.6rem 0.9rem; margin: 1.5rem 0 1rem 15%; }
.plain { white-space: pre-wrap; margin: 0; }
.muted, .notice, dt { color: var(--muted); font-size: 0.85rem; }
.notice { text-align: center; }
details { border: 1px solid var(--line); border-radius: 8px; padding: 0.4rem 0.8rem; margin: 0.6rem 0; }
summary { cursor: pointer; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; }
dd { margin: 0; }
img { max-width: 100%; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: 0.2rem 0.6rem; }
blockquote { margin: 0; padding-left: 0.8rem; border-left: 3px solid var(--line); color: var(--muted); }
.added { background: var(--good); }
.removed { background: var(--bad); }
`;
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:";

export function transcriptHtml(transcript: Transcript): string {
  const box = document.createElement("div");
  const root = createRoot(box);
  flushSync(() => root.render(<Page transcript={transcript} />));
  const body = box.innerHTML;
  root.unmount();
  const title = document.createElement("title");
  title.textContent = nameOfSession(transcript.session);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
${title.outerHTML}
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`;
}

function Page({ transcript }: { readonly transcript: Transcript }): React.ReactNode {
  const { session, instance } = transcript;
  return (
    <main>
      <h1>{nameOfSession(session)}</h1>
      <dl>
        {factsOf(transcript).map(([name, text]) => (
          <Fact key={name} name={name} text={text} />
        ))}
      </dl>
      {session.items.map((item) => (
        <Part key={item.key} item={item} terminals={instance.terminals} />
      ))}
    </main>
  );
}

function Fact({ name, text }: { readonly name: string; readonly text: string }): React.ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </>
  );
}

interface PartProps {
  readonly item: Item;
  readonly terminals: InstanceState["terminals"];
}

function Part({ item, terminals }: PartProps): React.ReactNode {
  switch (item.type) {
    case "user":
      return (
        <section className="you" aria-label="You">
          {item.blocks.map((block, index) =>
            block.type === "text" ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: rendered once.
              <p key={index} className="plain">
                {textOf(block.text)}
              </p>
            ) : (
              // biome-ignore lint/suspicious/noArrayIndexKey: rendered once.
              <Block key={index} block={block} />
            ),
          )}
          <div className="muted">{timesText(item.atMs, item.endedAtMs)}</div>
        </section>
      );
    case "agent":
      return (
        <section aria-label="Agent">
          <AllBlocks blocks={item.blocks} />
        </section>
      );
    case "thought":
      return (
        <details>
          <summary className="muted">Thought</summary>
          <AllBlocks blocks={item.blocks} />
        </details>
      );
    case "tool":
      return <Tool tool={item} terminals={terminals} />;
    case "plan":
      return (
        <section aria-label="Plan">
          <strong>Plan</strong>
          <ul>
            {item.entries.map(({ content, status }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rendered once.
              <li key={index}>
                {String(content)} <span className="muted">({String(status).replaceAll("_", " ")})</span>
              </li>
            ))}
          </ul>
        </section>
      );
    case "notice":
      return <p className="notice">{item.text}</p>;
  }
}

function Tool({ tool, terminals }: { readonly tool: ToolItem } & Pick<PartProps, "terminals">): React.ReactNode {
  const facts = [tool.kind, tool.status.replaceAll("_", " "), timesText(tool.startedAtMs, tool.endedAtMs)];
  return (
    <details>
      <summary>
        {tool.title} <span className="muted">{facts.filter((fact) => fact !== undefined).join(", ")}</span>
      </summary>
      {toolParts(tool, terminals).map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rendered once.
        <pre key={index}>{part.language === "diff" ? <DiffLines part={part} /> : part.text}</pre>
      ))}
    </details>
  );
}

/** How many lines at the start of a diff name the file: one before and one after the change. */
const FILE_NAMES = 2;
const SIGNS: Readonly<Record<string, string>> = { "+": "added", "-": "removed" };

function DiffLines({ part }: { readonly part: ToolPart }): React.ReactNode {
  return part.text.split("\n").map((line, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: rendered once.
    <span key={index} className={index < FILE_NAMES ? undefined : SIGNS[line[0] ?? ""]}>
      {`${line}\n`}
    </span>
  ));
}

function AllBlocks({ blocks }: { readonly blocks: readonly ContentBlock[] }): React.ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: rendered once.
  return blocks.map((block, index) => <Block key={index} block={block} />);
}

const COMPONENTS: Components = {
  // An image is shown as a link, as in the conversation: the file loads nothing from elsewhere.
  img: ({ alt, src }) => <a href={typeof src === "string" ? src : undefined}>{alt || "image"}</a>,
};
const REMARK = [remarkGfm, remarkLineBreaks];

function Block({ block }: { readonly block: ContentBlock }): React.ReactNode {
  const [type, data] = [textOf(block.mimeType) ?? "", textOf(block.data) ?? ""];
  switch (block.type) {
    case "text":
      return (
        <ReactMarkdown remarkPlugins={REMARK} components={COMPONENTS}>
          {withoutColours(textOf(block.text) ?? "")}
        </ReactMarkdown>
      );
    case "image":
      return type.startsWith("image/") ? <img alt="" src={`data:${type};base64,${data}`} /> : null;
    case "audio":
      // biome-ignore lint/a11y/useMediaCaption: the protocol has no captions to show.
      return type.startsWith("audio/") ? <audio controls src={`data:${type};base64,${data}`} /> : null;
    case "resource_link":
      return <code>{textOf(block.uri)}</code>;
    case "resource": {
      const { uri, text } = objectOf(block.resource);
      return (
        <details>
          <summary>{textOf(uri) ?? "file"}</summary>
          <pre>{textOf(text)}</pre>
        </details>
      );
    }
    default:
      return <pre>{pretty(block)}</pre>;
  }
}
