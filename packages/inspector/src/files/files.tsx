/** The sandbox's files: look, change, bring, take. */

import { type DragEvent, useCallback, useRef, useState } from "react";
import { useWorkbench } from "../view/context.ts";
import { downloadBlob } from "../view/hand-out.ts";
import { useTask } from "../view/task.ts";
import { nameOf } from "./content.ts";
import { type Dropped, droppedFiles } from "./dropped.ts";
import { Tree } from "./tree.tsx";
import { Viewer } from "./viewer.tsx";
import "../style/files.css";

export default function FilesView(): React.ReactNode {
  const { api, workspace } = useWorkbench();
  const [root, setRoot] = useState(workspace);
  const [folder, setFolder] = useState(workspace);
  const [open, setOpen] = useState<string>();
  const [round, setRound] = useState(0);
  const [isOver, setIsOver] = useState(false);
  const [told, setTold] = useState("");
  const picker = useRef<HTMLInputElement>(null);
  const task = useTask();
  const refresh = useCallback(() => setRound((count) => count + 1), []);

  const bring = (files: Promise<readonly Dropped[]>): void =>
    task.run(async () => {
      const list = await files;
      for (const [index, { path, file }] of list.entries()) {
        setTold(`Uploading ${index + 1} of ${list.length}: ${path}`);
        await api.write(`${folder.replace(/\/$/, "")}/${path}`, file);
      }
      setTold(`${list.length === 1 ? list[0]?.path : `${list.length} files`} uploaded to ${folder}`);
      refresh();
    });
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setIsOver(false);
    bring(droppedFiles(event.dataTransfer));
  };
  const makeFolder = (): void => {
    const name = prompt(`New folder in ${folder}`);
    if (name) task.run(() => api.makeFolder(`${folder}/${name}`).then(refresh));
  };

  return (
    <section
      className="files"
      data-over={isOver}
      aria-label="Files"
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={onDrop}
    >
      <div className="raw-bar">
        <form
          className="files-root"
          onSubmit={(event) => {
            event.preventDefault();
            setFolder(root);
            refresh();
          }}
        >
          <input aria-label="Folder to show" value={root} onChange={(event) => setRoot(event.target.value)} />
        </form>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          data-purpose="upload"
          onChange={({ target }) => {
            const files = [...(target.files ?? [])].map((file) => ({ path: file.name, file }));
            target.value = "";
            bring(Promise.resolve(files));
          }}
        />
        <button type="button" disabled={task.isBusy} onClick={() => picker.current?.click()}>
          Upload
        </button>
        <button type="button" onClick={makeFolder}>
          New folder
        </button>
        <button
          type="button"
          disabled={task.isBusy}
          onClick={() => task.run(async () => downloadBlob(`${nameOf(folder)}.tar.gz`, await api.pack(folder)))}
        >
          Download folder
        </button>
        <button type="button" onClick={refresh}>
          Refresh
        </button>
      </div>
      <p className="files-told muted small" role="status">
        {told || `Files dropped here go to ${folder}`}
      </p>
      {task.error && (
        <p role="alert" className="alert">
          {task.error}
        </p>
      )}
      <div className="files-body" data-open={open !== undefined}>
        <div className="files-tree">
          <Tree path={root} round={round} current={open ?? folder} onFolder={setFolder} onFile={setOpen} />
        </div>
        {open !== undefined && (
          <Viewer
            key={open}
            path={open}
            onGone={() => {
              setOpen(undefined);
              refresh();
            }}
            onClose={() => setOpen(undefined)}
          />
        )}
      </div>
    </section>
  );
}
