/** A permission with the agent's own options. */

import { objectOf } from "acp-http-client/internal";
import { readPermission } from "sandbox-agent/convert";
import { ToolDetails } from "../conversation/tool.tsx";
import { newSession, withTool } from "../journal/session.ts";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";
import { Digit } from "./digit.tsx";
import type { OpenAsk } from "./open.ts";

export function PermissionCard({ open: { serverId, ask } }: { readonly open: OpenAsk }): React.ReactNode {
  const { acting } = useWorkbench();
  const task = useTask();
  const request = readPermission(ask.params, { permissionId: ask.key, sessionId: ask.sessionId ?? "" });
  const [tool] = withTool(newSession(""), objectOf(ask.params.toolCall), "ask").items;

  const choose = (optionId: string): void =>
    task.run(() => acting.answer(serverId, ask.id, { outcome: { outcome: "selected", optionId } }));
  const cancel = (): void => task.run(() => acting.answer(serverId, ask.id, { outcome: { outcome: "cancelled" } }));

  return (
    <>
      <h2>
        {request.toolKind && <span className="chip">{request.toolKind}</span>} {request.title || "Permission"}
      </h2>
      {tool?.type === "tool" && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
        <div className="ask-details" tabIndex={0}>
          <ToolDetails tool={tool} terminals={undefined} />
        </div>
      )}
      {task.error && (
        <p role="alert" className="alert small">
          {task.error}
        </p>
      )}
      <div className="choices">
        {request.options.map((option, index) => (
          <button
            key={option.id}
            type="button"
            data-choice={index + 1}
            className={option.kind?.startsWith("reject") ? "danger" : index === 0 ? "primary" : ""}
            disabled={task.isBusy}
            onClick={() => choose(option.id)}
          >
            <Digit value={index + 1} /> {option.label}
          </button>
        ))}
        {request.options.length === 0 && (
          <button type="button" disabled={task.isBusy} onClick={cancel}>
            Cancel
          </button>
        )}
      </div>
    </>
  );
}
