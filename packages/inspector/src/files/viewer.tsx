/** One file: text to edit, an image to view, anything else to download. */

import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import { sizeText } from "../text/size.ts";
import { Alert } from "../view/alert.tsx";
import { ConfirmButton } from "../view/confirm-button.tsx";
import { useWorkbench } from "../view/context.ts";
import { downloadBlob } from "../view/export.ts";
import { useTask } from "../view/task.ts";
import { type Content, contentOf, nameOf } from "./content.ts";

const Editor = lazy(() => import("./editor.tsx"));

/** Unsaved changes, keyed by path. They are kept while other files are shown. */
export type Drafts = Map<string, Draft>;

interface Draft {
  readonly text: string;
  /** The version of the file that was edited. */
  readonly etag: string | undefined;
}

interface Props {
  readonly path: string;
  readonly drafts: Drafts;
  onMove(): void;
  onGone(): void;
  onClose(): void;
}

export function Viewer({ path, drafts, onMove, onGone, onClose }: Props): React.ReactNode {
  const { api } = useWorkbench();
  const task = useTask();
  const { run } = task;
  const [content, setContent] = useState<Content>();
  const [etag, setEtag] = useState<string>();
  const [text, setText] = useState("");
  const [isSaved, setIsSaved] = useState(false);
  const [isConflict, setIsConflict] = useState(false);

  const load = useCallback(async () => {
    const read = await api.read(path);
    const found = await contentOf(path, read.blob);
    const draft = drafts.get(path);
    setContent(found);
    setEtag(draft ? draft.etag : read.etag);
    setIsConflict(false);
    if (found.kind === "text") setText(draft?.text ?? found.text);
  }, [api, path, drafts]);
  useEffect(() => run(load), [run, load]);

  const change = (next: string): void => {
    setText(next);
    if (content?.kind !== "text" || next === content.text) drafts.delete(path);
    else drafts.set(path, { text: next, etag });
  };
  const save = (over: "what was read" | "anything"): void =>
    task.run(async () => {
      try {
        // Fails if the file has changed since it was read: the agent's changes must not be overwritten by accident.
        await api.write(path, text, over === "anything" ? undefined : etag);
      } catch (error) {
        if (!hasStatus(error, 412)) throw error;
        setIsConflict(true);
        return;
      }
      drafts.delete(path);
      await load();
      setIsSaved(true);
    });
  const dropDraft = (): void => {
    drafts.delete(path);
    task.run(load);
  };
  const isChanged = content?.kind === "text" && text !== content.text;

  return (
    <section className="viewer" aria-label={`File ${path}`}>
      <div className="raw-bar">
        <strong className="ellipsis" title={path}>
          {nameOf(path)}
        </strong>
        {isChanged && <span className="chip">changed</span>}
        {content && <small className="muted">{sizeText(content.blob.size)}</small>}
        {content?.kind === "text" && (
          <button
            type="button"
            className="primary"
            title="Ctrl+S"
            disabled={!isChanged || task.isBusy}
            onClick={() => save("what was read")}
          >
            Save
          </button>
        )}
        <button type="button" disabled={!content} onClick={() => content && downloadBlob(nameOf(path), content.blob)}>
          Download
        </button>
        <button type="button" onClick={onMove}>
          Move
        </button>
        <ConfirmButton
          name="Delete"
          question="Really delete it"
          isBusy={task.isBusy}
          onConfirm={() => task.run(() => api.remove(path).then(onGone))}
        />
        <button type="button" className="icon" aria-label="Close file" onClick={onClose}>
          ×
        </button>
      </div>
      <Alert text={task.error} isSmall />
      {isConflict && (
        <div role="alert" className="alert small conflict">
          <span>This file has changed since it was read. Nothing was saved.</span>
          <button type="button" onClick={dropDraft}>
            Load the current version
          </button>
          <button type="button" className="danger" onClick={() => save("anything")}>
            Overwrite it
          </button>
        </div>
      )}
      <p className="visually-hidden" role="status">
        {isSaved && !isChanged ? "Saved" : ""}
      </p>
      {!content && !task.error && <p className="splash">Loading…</p>}
      {content?.kind === "text" && (
        <Suspense fallback={<p className="splash">Loading…</p>}>
          <Editor
            path={path}
            text={content.text}
            draft={text}
            onChange={change}
            onSave={() => isChanged && save("what was read")}
          />
        </Suspense>
      )}
      {content?.kind === "image" && <Picture blob={content.blob} name={nameOf(path)} />}
      {content?.kind === "binary" && <p className="splash">{content.reason}</p>}
    </section>
  );
}

/** True if the server has answered with this status. 412 means that the file has changed, or already exists. */
export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof Error && "status" in error && error.status === status;
}

function Picture({ blob, name }: { readonly blob: Blob; readonly name: string }): React.ReactNode {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return <div className="picture">{url && <img src={url} alt={name} />}</div>;
}
