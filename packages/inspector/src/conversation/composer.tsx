/** The message input: text, slash commands, attached or dropped files, and the button that cancels a turn. */

import { AcpTransportError } from "acp-http-client";
import type { JsonObject } from "acp-http-client/internal";
import {
  type ClipboardEvent,
  type DragEvent,
  type FormEvent,
  type KeyboardEvent,
  useId,
  useRef,
  useState,
} from "react";
import type { InstanceState, SessionState } from "../journal/types.ts";
import { Alert } from "../view/alert.tsx";
import { useWorkbench } from "../view/context.ts";
import { ClipIcon } from "../view/icons.tsx";
import { useIsNarrow } from "../view/narrow.ts";
import { useTask } from "../view/task.ts";
import { AttachedList, useAttachments } from "./attachments.tsx";
import { CommandList, optionId } from "./command-list.tsx";
import { matchingCommands } from "./compose.ts";

interface Props {
  readonly state: InstanceState;
  readonly session: SessionState;
  readonly isDisabled: boolean;
}

export function Composer({ state, session, isDisabled }: Props): React.ReactNode {
  const { commands } = useWorkbench();
  const [text, setText] = useState("");
  const [isDragOver, setIsDragOver] = useState(false);
  const [activeIndex, setActiveIndex] = useState(0);
  const [isDismissed, setIsDismissed] = useState(false);
  const list = useId();
  const picker = useRef<HTMLInputElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const task = useTask();
  const isNarrow = useIsNarrow();
  const attachments = useAttachments(state, session);
  const isWorking = session.turns.length > 0;
  const slashCommands = isDismissed ? [] : matchingCommands(text, session.commands);
  const active = Math.min(activeIndex, slashCommands.length - 1);

  const send = (event?: FormEvent): void => {
    event?.preventDefault();
    const content = text.trim();
    const blocks = attachments.attached.map(({ block }) => block);
    if ((content === "" && blocks.length === 0) || isDisabled || attachments.isBusy) return;
    const prompt = [...(content === "" ? [] : [{ type: "text", text: content }]), ...blocks];
    write("");
    attachments.clear();
    // The conversation shows the turn and how it ends. Only a prompt that could not be sent is reported here.
    task.run(() =>
      commands
        .request(state.serverId, "session/prompt", { sessionId: session.id, prompt })
        .catch(rethrowTransportError),
    );
  };
  const cancel = (): void =>
    task.run(() => commands.notify(state.serverId, "session/cancel", { sessionId: session.id }));

  const write = (next: string): void => {
    setText(next);
    setActiveIndex(0);
    setIsDismissed(false);
  };
  const complete = (command: JsonObject): void => {
    write(`/${String(command.name)} `);
    area.current?.focus();
  };
  /** Handles the keys of the command list while it is open. */
  const onListKey = (key: string): boolean => {
    const chosen = slashCommands[active];
    if (!chosen) return false;
    if (key === "ArrowDown" || key === "ArrowUp") {
      const step = key === "ArrowDown" ? 1 : -1;
      setActiveIndex((active + step + slashCommands.length) % slashCommands.length);
    } else if (key === "Escape") setIsDismissed(true);
    else if (key === "Tab" || (key === "Enter" && text !== `/${String(chosen.name)}`)) complete(chosen);
    else return false;
    return true;
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing || event.shiftKey) return;
    if (onListKey(event.key)) event.preventDefault();
    else if (event.key === "Enter") send(event);
    else if (event.key === "Escape" && isWorking) cancel();
  };
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setIsDragOver(false);
    if (!isDisabled) attachments.add([...event.dataTransfer.files]);
  };
  const onPaste = (event: ClipboardEvent): void => {
    const { files, types } = event.clipboardData;
    // If there is text as well, only the text is pasted: spreadsheets and word processors add a picture of it.
    if (files.length === 0 || types.includes("text/plain")) return;
    event.preventDefault();
    attachments.add([...files]);
  };

  return (
    <form
      className="composer"
      data-over={isDragOver}
      onSubmit={send}
      onDragOver={(event) => {
        event.preventDefault();
        setIsDragOver(true);
      }}
      onDragLeave={() => setIsDragOver(false)}
      onDrop={onDrop}
    >
      {slashCommands.length > 0 && (
        <CommandList id={list} commands={slashCommands} active={active} onChoose={complete} />
      )}
      <Alert text={task.error ?? attachments.error} isSmall />
      <AttachedList {...attachments} />
      <div className="composer-row">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={({ target }) => {
            attachments.add([...(target.files ?? [])]);
            target.value = "";
          }}
        />
        <button
          type="button"
          className="icon"
          aria-label="Attach files"
          title="Attach files"
          disabled={isDisabled || attachments.isBusy}
          onClick={() => picker.current?.click()}
        >
          <ClipIcon />
        </button>
        <textarea
          ref={area}
          aria-label="Message"
          placeholder={placeholderOf(isDisabled, isNarrow)}
          value={text}
          rows={Math.min(8, text.split("\n").length)}
          disabled={isDisabled}
          role="combobox"
          aria-expanded={slashCommands.length > 0}
          aria-controls={list}
          aria-activedescendant={slashCommands.length > 0 ? optionId(list, active) : undefined}
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKey}
          onPaste={onPaste}
        />
        {isWorking && (
          <button type="button" className="danger" onClick={cancel} disabled={isDisabled}>
            Cancel
          </button>
        )}
        <button type="submit" className="primary" disabled={isDisabled || attachments.isBusy}>
          {attachments.isBusy ? "Uploading…" : "Send"}
        </button>
      </div>
    </form>
  );
}

/** The text in the empty input. On a phone it is short enough to fit beside the buttons. */
function placeholderOf(isDisabled: boolean, isNarrow: boolean): string {
  if (isDisabled) return isNarrow ? "Not running" : "The agent is not running";
  return isNarrow ? "Message" : "Message or /command";
}

/** Ignores the agent's own errors: they are already shown in the conversation. */
function rethrowTransportError(error: unknown): void {
  if (error instanceof AcpTransportError) throw error;
}
