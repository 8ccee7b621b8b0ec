/**
 * Markdown as the agent wrote it. HTML in it is shown as text, and addresses other than web and mail are dropped:
 * what an agent says runs nothing here. In a file of its own because it is heavy and not needed at first.
 */

import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { CodeText } from "../text/code.tsx";

const COMPONENTS: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener">
      {children}
    </a>
  ),
  // Images of a text come from elsewhere, and this page loads nothing from elsewhere.
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
  pre: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <pre tabIndex={0}>{children}</pre>
  ),
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <div className="table-box" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
};

const REMARK = [remarkGfm];
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
