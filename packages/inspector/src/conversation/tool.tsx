/** A tool call: what it is, how far it is, what went in and what came out. */

import { lazy, Suspense } from "react";
import type { InstanceState, TerminalState, ToolItem } from "../journal/types.ts";
import { objectOf, textOf } from "../json.ts";
import { ToolIcon } from "../view/icons.tsx";
import { Json } from "../view/json.tsx";
import { Blocks } from "./blocks.tsx";

const Diff = lazy(() => import("./diff.tsx"));

interface Props {
  readonly tool: ToolItem;
  readonly terminals: InstanceState["terminals"];
}

export function ToolCard({ tool, terminals }: Props): React.ReactNode {
  const hasDiff = tool.content.some(({ type }) => type === "diff");
  return (
    <details className="tool" open={hasDiff || tool.status === "failed"} data-status={tool.status}>
      <summary>
        <ToolIcon />
        {tool.kind && <span className="muted small">{tool.kind}</span>}
        <span className="ellipsis">{tool.title}</span>
        <span className="chip" data-tone={TONES[tool.status]}>
          {tool.status.replaceAll("_", " ")}
        </span>
      </summary>
      <ToolDetails tool={tool} terminals={terminals} />
    </details>
  );
}

const TONES: Readonly<Record<ToolItem["status"], string | undefined>> = {
  pending: undefined,
  in_progress: "busy",
  completed: "good",
  failed: "bad",
};

export function ToolDetails({ tool, terminals }: { tool: ToolItem; terminals?: Props["terminals"] }): React.ReactNode {
  return (
    <div className="tool-details">
      {tool.locations.length > 0 && (
        <p className="muted small">
          {tool.locations
            .map(({ path, line }) => `${textOf(path) ?? ""}${typeof line === "number" ? `:${line}` : ""}`)
            .join(", ")}
        </p>
      )}
      {tool.rawInput !== undefined && (
        <div>
          <small className="muted">Input</small>
          <Json value={tool.rawInput} />
        </div>
      )}
      {tool.content.map((content, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list is replaced whole and its parts have no names.
        <ToolContent key={index} content={content} terminals={terminals} />
      ))}
      {tool.rawOutput !== undefined && (
        <div>
          <small className="muted">Output</small>
          <Json value={tool.rawOutput} />
        </div>
      )}
    </div>
  );
}

function ToolContent({
  content,
  terminals,
}: {
  readonly content: ToolItem["content"][number];
  readonly terminals: Props["terminals"] | undefined;
}): React.ReactNode {
  if (content.type === "diff") {
    return (
      <Suspense fallback={<Json value={content} />}>
        <Diff
          path={textOf(content.path) ?? ""}
          before={textOf(content.oldText) ?? ""}
          after={textOf(content.newText) ?? ""}
        />
      </Suspense>
    );
  }
  if (content.type === "terminal") {
    return <Terminal terminal={terminals?.get(textOf(content.terminalId) ?? "")} />;
  }
  if (content.type === "content") return <Blocks blocks={[objectOf(content.content)]} look="markdown" />;
  return <Json value={content} />;
}

/** Colours and cursor movements of a terminal are left out. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for.
const CONTROL = /\u001b(\[[0-9;?]*[ -/]*[@-~]|\][^\u0007]*(\u0007|\u001b\\)|[@-_])/g;

function Terminal({ terminal }: { readonly terminal: TerminalState | undefined }): React.ReactNode {
  if (!terminal) return <p className="muted">A terminal of another client; what it printed did not pass here.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <pre className="terminal" tabIndex={0}>
      {terminal.command && (
        <span className="muted">
          $ {terminal.command}
          {"\n"}
        </span>
      )}
      {terminal.output.replace(CONTROL, "")}
      {terminal.exit && <span className="muted">{`\n[${terminal.exit}]`}</span>}
    </pre>
  );
}
