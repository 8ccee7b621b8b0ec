/**
 * Markdown from the agent. HTML is shown as text, and only web and mail links are kept, so that the page runs no code
 * from an agent. The renderer is large, so the page loads this module only when it is needed.
 */

import { memo, useContext, useRef } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CodeText } from "../text/code.tsx";
import { CodeBox } from "../text/code-box.tsx";
import { CodeSourceContext, wholeCodeAt } from "./code-source.ts";
import { remarkLineBreaks } from "./line-breaks.ts";

const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  // An image is shown as a link, because the page loads nothing from other origins.
  img: ({ alt, src }) => (
    <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer noopener">
      {alt || "image"}
    </a>
  ),
  code: ({ className, children }) => (
    <code className={className}>
      {typeof children === "string" ? (
        <CodeText text={children} language={/\blanguage-(\S+)/.exec(className ?? "")?.[1]} />
      ) : (
        children
      )}
    </code>
  ),
  pre: ({ node, children }) => <CodeBlock position={node?.position?.start.offset}>{children}</CodeBlock>,
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard.
    <div className="table-box" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
};

interface CodeBlockProps {
  /** Where the block starts in the rendered piece of Markdown. */
  readonly position: number | undefined;
  readonly children: React.ReactNode;
}

function CodeBlock({ position, children }: CodeBlockProps): React.ReactNode {
  const box = useRef<HTMLPreElement>(null);
  const piece = useContext(CodeSourceContext);
  return (
    <CodeBox text={() => wholeCodeAt(piece, position) ?? box.current?.textContent ?? ""}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard. */}
      <pre ref={box} tabIndex={0}>
        {children}
      </pre>
    </CodeBox>
  );
}

const REMARK = [remarkGfm, remarkLineBreaks];
const Markdown = memo(function Markdown({ text }: { readonly text: string }): React.ReactNode {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={REMARK} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

export default Markdown;
