/** The open agent requests, shown above every view. Alt and a digit answer the first one from anywhere on the page. */

import { useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { formatRoute } from "../view/route.ts";
import { ElicitationForm } from "./elicitation.tsx";
import type { OpenRequest } from "./open.ts";
import { PermissionCard } from "./permission.tsx";
import { QuestionCard } from "./question.tsx";
import { questionOf } from "./read-question.ts";

/** How many requests are shown at once. */
const SHOWN = 5;

export function AgentRequestDock({
  agentRequests,
}: {
  readonly agentRequests: readonly OpenRequest[];
}): React.ReactNode {
  const dock = useRef<HTMLElement>(null);
  const [isFolded, setIsFolded] = useState(false);

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!event.altKey || event.ctrlKey || event.metaKey) return;
      const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1];
      if (!dock.current || (!digit && event.code !== "KeyA")) return;
      event.preventDefault();
      if (digit) inFirstRequest(dock.current, `[data-choice="${digit}"]`)?.click();
      else {
        flushSync(() => setIsFolded(false));
        inFirstRequest(dock.current, CONTROLS)?.focus();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  if (agentRequests.length === 0) return <div role="status" className="visually-hidden" />;
  return (
    <section className="agent-requests" aria-label="Requests for you" ref={dock}>
      <div className="agent-requests-head">
        <strong role="status">
          {agentRequests.length === 1
            ? "An agent is waiting for you"
            : `Agents are waiting for you: ${agentRequests.length}`}
        </strong>
        <small className="muted only-wide">Alt+A focuses the first request, Alt+1…9 answers it</small>
        <button type="button" className="quiet" aria-expanded={!isFolded} onClick={() => setIsFolded(!isFolded)}>
          {isFolded ? "Show" : "Hide"}
        </button>
      </div>
      {!isFolded &&
        agentRequests
          .slice(0, SHOWN)
          .map((open) => (
            <AgentRequestCard key={`${open.serverId} ${open.request.key} ${open.request.event}`} open={open} />
          ))}
      {!isFolded && agentRequests.length > SHOWN && <p className="muted">and {agentRequests.length - SHOWN} more</p>}
    </section>
  );
}

/** The controls of a request with which the user answers it. */
const CONTROLS = "input:not(:disabled), select:not(:disabled), .choices button:not(:disabled)";

/** Finds an element only in the first request: a key that it does not offer must not answer another request. */
function inFirstRequest(dock: HTMLElement, selector: string): HTMLElement | null | undefined {
  return dock.querySelector(".agent-request")?.querySelector<HTMLElement>(selector);
}

function AgentRequestCard({ open }: { readonly open: OpenRequest }): React.ReactNode {
  const { serverId, agent, sessionTitle, request } = open;
  const session = request.sessionId === undefined ? {} : { session: request.sessionId };
  const question = questionOf(request);
  return (
    <article className="agent-request" data-method={request.method}>
      <a className="agent-request-from" href={formatRoute({ kind: "instance", serverId, tab: "chat", ...session })}>
        {agent} · {sessionTitle ?? serverId}
      </a>
      {request.method === "session/request_permission" ? (
        <PermissionCard open={open} />
      ) : question?.kind === "choice" ? (
        <QuestionCard open={open} question={question} />
      ) : (
        <ElicitationForm open={open} question={question} />
      )}
    </article>
  );
}
