/** One file: text to read and change, a picture to see, anything else to take along. */

import { useCallback, useEffect, useState } from "react";
import { sizeText } from "../text/size.ts";
import { useWorkbench } from "../view/context.ts";
import { downloadBlob } from "../view/hand-out.ts";
import { useTask } from "../view/task.ts";
import { type Content, contentOf, nameOf } from "./content.ts";

interface Props {
  readonly path: string;
  onGone(): void;
  onClose(): void;
}

export function Viewer({ path, onGone, onClose }: Props): React.ReactNode {
  const { api } = useWorkbench();
  const task = useTask();
  const { run } = task;
  const [content, setContent] = useState<Content>();
  const [etag, setEtag] = useState<string>();
  const [text, setText] = useState("");
  const [isSaved, setIsSaved] = useState(false);

  const load = useCallback(async () => {
    const read = await api.read(path);
    const found = await contentOf(path, read.blob);
    setContent(found);
    setEtag(read.etag);
    if (found.kind === "text") setText(found.text);
  }, [api, path]);
  useEffect(() => run(load), [run, load]);

  const save = (): void =>
    task.run(async () => {
      // Only over what was read: what the agent wrote meanwhile is not lost unseen.
      await api.write(path, text, etag);
      await load();
      setIsSaved(true);
    });
  const remove = (): void => {
    if (confirm(`Delete ${path}?`)) task.run(() => api.remove(path).then(onGone));
  };
  const rename = (): void => {
    const to = prompt("New path", path);
    if (to && to !== path) task.run(() => api.move(path, to).then(onGone));
  };
  const isChanged = content?.kind === "text" && text !== content.text;

  return (
    <section className="viewer" aria-label={`File ${path}`}>
      <div className="raw-bar">
        <strong className="ellipsis" title={path}>
          {nameOf(path)}
        </strong>
        {content && <small className="muted">{sizeText(content.blob.size)}</small>}
        {content?.kind === "text" && (
          <button type="button" className="primary" disabled={!isChanged || task.isBusy} onClick={save}>
            Save
          </button>
        )}
        <button type="button" disabled={!content} onClick={() => content && downloadBlob(nameOf(path), content.blob)}>
          Download
        </button>
        <button type="button" onClick={rename}>
          Move
        </button>
        <button type="button" className="danger" onClick={remove}>
          Delete
        </button>
        <button type="button" className="icon" aria-label="Close file" onClick={onClose}>
          ×
        </button>
      </div>
      {task.error && (
        <p role="alert" className="alert small">
          {task.error}
        </p>
      )}
      <p className="visually-hidden" role="status">
        {isSaved && !isChanged ? "Saved" : ""}
      </p>
      {content?.kind === "text" && (
        <textarea
          aria-label={`Text of ${nameOf(path)}`}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      {content?.kind === "image" && <Picture blob={content.blob} name={nameOf(path)} />}
      {content?.kind === "binary" && <p className="splash">{content.reason}</p>}
    </section>
  );
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
