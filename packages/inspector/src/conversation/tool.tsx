/** A tool call: its title, status, input and output. */

import { objectOf, textOf } from "acp-http-client/internal";
import { lazy, Suspense } from "react";
import type { InstanceState, ToolItem } from "../journal/types.ts";
import { Code } from "../text/code.tsx";
import { Json } from "../text/json.tsx";
import { LongText } from "../text/long-text.tsx";
import { isForTerminal, Terminal } from "../text/terminal.tsx";
import { Times } from "../text/time.tsx";
import { ToolIcon } from "../view/icons.tsx";
import { Block } from "./blocks.tsx";
import { Fold, inputOf, outputOf } from "./fold.tsx";
import { commandOf, printedBy, restOfInput } from "./tool-text.ts";

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
          <Times fromMs={tool.startedAtMs} toMs={tool.endedAtMs} />
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
  const command = commandOf(tool.rawInput);
  const rest = restOfInput(tool.rawInput);
  const terminal = terminals?.get(tool.terminalId ?? "");
  const isShown = tool.content.some(({ type, terminalId }) => type === "terminal" && terminalId === tool.terminalId);
  const own = !isShown && terminal && (terminal.output !== "" || terminal.exit) ? terminal : undefined;
  const hasResult = tool.content.length > 0 || own !== undefined;
  return (
    <div className="tool-details">
      {tool.locations.length > 0 && (
        <p className="muted small">
          {tool.locations
            .map(({ path, line }) => `${textOf(path) ?? ""}${typeof line === "number" ? `:${line}` : ""}`)
            .join(", ")}
        </p>
      )}
      {command !== undefined && (
        <LongText text={command} show={(text) => <Code className="json" text={text} language="bash" />} isCode />
      )}
      {rest !== undefined &&
        (hasResult || command !== undefined ? (
          <Fold name={inputOf(tool.key)} className="raw-fold" summary="Input" content={() => <Json value={rest} />} />
        ) : (
          <Json value={rest} />
        ))}
      {tool.content.map((content, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list is replaced as a whole and its entries have no ids.
        <ToolContent key={index} content={content} tool={tool} terminals={terminals} />
      ))}
      {own && <Terminal {...own} />}
      {tool.rawOutput !== undefined &&
        (hasResult ? (
          <Fold
            name={outputOf(tool.key)}
            className="raw-fold"
            summary="Raw output"
            content={() => <Json value={tool.rawOutput} />}
          />
        ) : (
          <RawOutput value={tool.rawOutput} />
        ))}
    </div>
  );
}

interface ContentProps extends Props {
  readonly content: ToolItem["content"][number];
}

function ToolContent({ content, tool, terminals }: ContentProps): React.ReactNode {
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
    return <p className="muted small">No output from this terminal was received.</p>;
  }
  if (content.type === "content") {
    const block = objectOf(content.content);
    const text = textOf(block.text);
    return text === undefined ? <Block block={block} /> : <ToolText text={text} tool={tool} />;
  }
  return <Json value={content} />;
}

/** Kinds of tools whose output is shown as it is, unless the agent has wrapped it in a Markdown code block. */
const VERBATIM_KINDS: readonly unknown[] = ["read", "search", "fetch"];

function ToolText({ text, tool }: { readonly text: string; readonly tool: ToolItem }): React.ReactNode {
  const isMarkdown = text.includes("```");
  if (isForTerminal(text) || (tool.kind === "execute" && !isMarkdown)) return <Terminal output={text} />;
  if (isMarkdown || !VERBATIM_KINDS.includes(tool.kind)) return <Block block={{ type: "text", text }} />;
  const language = /\.(\w+)$/.exec(textOf(tool.locations[0]?.path) ?? "")?.[1]?.toLowerCase();
  return <LongText text={text} show={(part) => <Code className="json" text={part} language={language} />} isCode />;
}

function RawOutput({ value }: { readonly value: unknown }): React.ReactNode {
  const printed = printedBy(value);
  return printed === undefined ? <Json value={value} /> : <Terminal output={printed} />;
}
