/** A permission request with the options that the agent offers. */

import { objectOf } from "acp-http-client/internal";
import { readPermission } from "sandbox-agent/convert";
import { ToolDetails } from "../conversation/tool.tsx";
import { newSession, withTool } from "../journal/session.ts";
import { Alert } from "../view/alert.tsx";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";
import { ChoiceButton } from "./choice-button.tsx";
import type { OpenRequest } from "./open.ts";

export function PermissionCard({ open: { serverId, request } }: { readonly open: OpenRequest }): React.ReactNode {
  const { commands } = useWorkbench();
  const task = useTask();
  const permission = readPermission(request.params, { permissionId: request.key, sessionId: request.sessionId ?? "" });
  const [tool] = withTool(newSession(""), objectOf(request.params.toolCall), { key: "ask", atMs: undefined }).items;

  const choose = (optionId: string): void =>
    task.run(() => commands.answer(serverId, request.id, { outcome: { outcome: "selected", optionId } }));
  const cancel = (): void =>
    task.run(() => commands.answer(serverId, request.id, { outcome: { outcome: "cancelled" } }));

  return (
    <>
      <h2>
        {permission.toolKind && <span className="chip">{permission.toolKind}</span>} {permission.title || "Permission"}
      </h2>
      {tool?.type === "tool" && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard.
        <div className="agent-request-details" tabIndex={0}>
          <ToolDetails tool={tool} terminals={undefined} />
        </div>
      )}
      <Alert text={task.error} isSmall />
      <div className="choices">
        {permission.options.map((option, index) => (
          <ChoiceButton
            key={option.id}
            digit={index + 1}
            className={option.kind?.startsWith("reject") ? "danger" : index === 0 ? "primary" : undefined}
            isBusy={task.isBusy}
            onPress={() => choose(option.id)}
          >
            {option.label}
          </ChoiceButton>
        ))}
        {permission.options.length === 0 && (
          <ChoiceButton digit={1} isBusy={task.isBusy} onPress={cancel}>
            Cancel
          </ChoiceButton>
        )}
      </div>
    </>
  );
}
