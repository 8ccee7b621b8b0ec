/** A tool call: what it is, how far it is, what went in and what came out. */

import { lazy, Suspense } from "react";
import type { InstanceState, ToolItem } from "../journal/types.ts";
import { objectOf, textOf } from "../json.ts";
import { Json } from "../text/json.tsx";
import { isForTerminal, Terminal } from "../text/terminal.tsx";
import { ToolIcon } from "../view/icons.tsx";
import { Block } from "./blocks.tsx";
import { Fold } from "./fold.tsx";

const Diff = lazy(() => import("./diff.tsx"));

interface Props {
  readonly tool: ToolItem;
  readonly terminals: InstanceState["terminals"] | undefined;
}

export function ToolCard({ tool, terminals }: Props): React.ReactNode {
  const hasDiff = tool.content.some(({ type }) => type === "diff");
  return (
    <Fold
      name={tool.key}
      className="tool"
      isOpenAtFirst={hasDiff || tool.status === "failed"}
      status={tool.status}
      summary={
        <>
          <ToolIcon />
          {tool.kind && <span className="muted small">{tool.kind}</span>}
          <span className="ellipsis">{tool.title}</span>
          <span className="chip" data-tone={TONES[tool.status]}>
            {tool.status.replaceAll("_", " ")}
          </span>
        </>
      }
      content={() => <ToolDetails tool={tool} terminals={terminals} />}
    />
  );
}

const TONES: Readonly<Record<ToolItem["status"], string | undefined>> = {
  pending: undefined,
  in_progress: "busy",
  completed: "good",
  failed: "bad",
};

export function ToolDetails({ tool, terminals }: Props): React.ReactNode {
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
          <RawOutput value={tool.rawOutput} />
        </div>
      )}
    </div>
  );
}

interface ContentProps {
  readonly content: ToolItem["content"][number];
  readonly terminals: Props["terminals"];
}

function ToolContent({ content, terminals }: ContentProps): React.ReactNode {
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
    const terminal = terminals?.get(textOf(content.terminalId) ?? "");
    if (terminal) return <Terminal {...terminal} />;
    return <p className="muted">A terminal of another client; what it printed did not pass here.</p>;
  }
  if (content.type === "content") {
    const block = objectOf(content.content);
    const text = textOf(block.text);
    return text !== undefined && isForTerminal(text) ? <Terminal output={text} /> : <Block block={block} />;
  }
  return <Json value={content} />;
}

function RawOutput({ value }: { readonly value: unknown }): React.ReactNode {
  return typeof value === "string" && isForTerminal(value) ? <Terminal output={value} /> : <Json value={value} />;
}
