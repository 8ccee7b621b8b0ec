/**
 * Markdown from the agent. HTML is shown as text, and only web and mail links are kept, so that nothing from an agent
 * runs here. A module of its own because the renderer is large and not needed on the first load.
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
  // Shown as a link: this page loads no images from other origins.
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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard.
    <pre tabIndex={0}>{children}</pre>
  ),
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard.
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
