/** A dialog that exports a conversation as a Markdown or HTML file. */

import { useEffect, useRef } from "react";
import type { InstanceState, SessionState } from "../journal/types.ts";
import { Alert } from "../view/alert.tsx";
import { downloadText } from "../view/export.ts";
import { useTask } from "../view/task.ts";

interface Props {
  readonly state: InstanceState;
  readonly session: SessionState;
  onClose(): void;
}

export function ExportDialog({ state, session, onClose }: Props): React.ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const task = useTask();
  useEffect(() => dialog.current?.showModal(), []);
  const save = (format: "md" | "html"): void =>
    task.run(async () => {
      const transcript = { instance: state, session, exportedAt: new Date() };
      const { fileNameOf, transcriptMarkdown } = await import("./transcript.ts");
      const name = `${fileNameOf(session)}.${format}`;
      if (format === "md") downloadText(name, transcriptMarkdown(transcript), "text/markdown");
      else {
        const { transcriptHtml } = await import("./transcript-html.tsx");
        downloadText(name, transcriptHtml(transcript), "text/html");
      }
      onClose();
    });
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="export-title">
      <h2 id="export-title">Export this conversation</h2>
      <p>
        The file has all messages, thoughts and tool calls with their times. Check it for secrets before you share it.
      </p>
      <Alert text={task.error} isSmall />
      <div className="choices">
        <button type="button" className="primary" disabled={task.isBusy} onClick={() => save("md")}>
          Markdown
        </button>
        <button type="button" className="primary" disabled={task.isBusy} onClick={() => save("html")}>
          HTML
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
      </div>
    </dialog>
  );
}
