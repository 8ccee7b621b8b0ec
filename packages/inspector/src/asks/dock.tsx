/** What agents wait for, above every view. The digits answer the first one from anywhere (with Alt). */

import { useEffect, useRef, useState } from "react";
import { formatPlace } from "../view/place.ts";
import { AskForm } from "./form.tsx";
import type { OpenAsk } from "./open.ts";
import { PermissionCard } from "./permission.tsx";
import { QuestionCard } from "./question.tsx";
import { questionOf } from "./read.ts";

/** How many are shown at once; the rest wait behind them. */
const SHOWN = 5;

export function AskDock({ asks }: { readonly asks: readonly OpenAsk[] }): React.ReactNode {
  const dock = useRef<HTMLElement>(null);
  const [isFolded, setIsFolded] = useState(false);

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!event.altKey || event.ctrlKey || event.metaKey) return;
      const digit = /^Digit([1-9])$/.exec(event.code)?.[1];
      const target = digit
        ? dock.current?.querySelector<HTMLElement>(`[data-choice="${digit}"]`)
        : event.code === "KeyA"
          ? dock.current?.querySelector<HTMLElement>("button, input, select")
          : undefined;
      if (!target) return;
      event.preventDefault();
      if (digit) target.click();
      else target.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  if (asks.length === 0) return <div role="status" className="visually-hidden" />;
  return (
    <section className="asks" aria-label="Waiting for you" ref={dock}>
      <div className="asks-head">
        <strong role="status">
          {asks.length === 1 ? "An agent waits for you" : `Agents wait for you: ${asks.length}`}
        </strong>
        <small className="muted only-wide">Alt+A comes here, Alt+1…9 answers the first</small>
        <button type="button" className="quiet" aria-expanded={!isFolded} onClick={() => setIsFolded(!isFolded)}>
          {isFolded ? "Show" : "Fold"}
        </button>
      </div>
      {!isFolded &&
        asks
          .slice(0, SHOWN)
          .map((open) => <AskCard key={`${open.serverId} ${open.ask.key} ${open.ask.event}`} open={open} />)}
      {!isFolded && asks.length > SHOWN && <p className="muted">And {asks.length - SHOWN} more behind these.</p>}
    </section>
  );
}

function AskCard({ open }: { readonly open: OpenAsk }): React.ReactNode {
  const { serverId, agent, sessionTitle, ask } = open;
  const session = ask.sessionId === undefined ? {} : { session: ask.sessionId };
  const question = questionOf(ask);
  return (
    <article className="ask" data-method={ask.method}>
      <a className="ask-from" href={formatPlace({ kind: "instance", serverId, tab: "chat", ...session })}>
        {agent} · {sessionTitle ?? serverId}
      </a>
      {ask.method === "session/request_permission" ? (
        <PermissionCard open={open} />
      ) : question?.kind === "choice" ? (
        <QuestionCard open={open} question={question} />
      ) : (
        <AskForm open={open} question={question} />
      )}
    </article>
  );
}
