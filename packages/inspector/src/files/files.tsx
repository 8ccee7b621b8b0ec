/** The sandbox's files: browse, edit, upload, download. */

import { type DragEvent, useCallback, useEffect, useState } from "react";
import { Alert } from "../view/alert.tsx";
import { useWorkbench } from "../view/context.ts";
import { NameDialog, type NamePrompt } from "../view/name-dialog.tsx";
import { useTask } from "../view/task.ts";
import { nameOf } from "./content.ts";
import { type Dropped, droppedFiles } from "./dropped.ts";
import { FilesBar } from "./files-bar.tsx";
import { joinPath, parentOf } from "./path.ts";
import { Tree } from "./tree.tsx";
import { type Drafts, hasStatus, Viewer } from "./viewer.tsx";
import "../style/files.css";

/** Changes to files come in bursts: the view is refreshed this long after the first change of a burst. */
const SETTLED_MS = 300;

export default function FilesView(): React.ReactNode {
  const { api, workspace } = useWorkbench();
  const [root, setRoot] = useState(workspace);
  const [folder, setFolder] = useState(workspace);
  const [open, setOpen] = useState<string>();
  const [revision, setRevision] = useState(0);
  const [isDragOver, setIsDragOver] = useState(false);
  const [status, setStatus] = useState("");
  const [namePrompt, setNamePrompt] = useState<NamePrompt>();
  const [drafts] = useState<Drafts>(() => new Map());
  const task = useTask();
  const refresh = useCallback(() => setRevision((count) => count + 1), []);
  useChanges(root, refresh);
  useWarning(drafts);

  const upload = (files: Promise<readonly Dropped[]>): void =>
    task.run(async () => {
      const list = await files;
      for (const [index, { path, file }] of list.entries()) {
        setStatus(`Uploading ${index + 1} of ${list.length}: ${path}`);
        await api.write(joinPath(folder, path), file);
      }
      setStatus(`${list.length === 1 ? list[0]?.path : `${list.length} files`} uploaded to ${folder}`);
      refresh();
    });
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setIsDragOver(false);
    upload(droppedFiles(event.dataTransfer));
  };
  const makeFolder = (): void =>
    setNamePrompt({
      title: `New folder in ${folder}`,
      label: "Name",
      initial: "",
      button: "Create folder",
      done: async (name) => {
        await api.makeFolder(joinPath(folder, name));
        refresh();
      },
    });
  const makeFile = (): void =>
    setNamePrompt({
      title: `New file in ${folder}`,
      label: "Name",
      initial: "",
      button: "Create file",
      done: async (name) => {
        const path = joinPath(folder, name);
        await api.makeFile(path).catch((error: unknown) => {
          throw hasStatus(error, 412) ? new Error(`A file named ${name} already exists.`) : error;
        });
        setOpen(path);
        refresh();
      },
    });
  const move = (path: string, after: (to: string) => void): void =>
    setNamePrompt({
      title: `Move ${nameOf(path)}`,
      label: "New path",
      initial: path,
      button: "Move",
      done: async (to) => {
        const target = to.startsWith("/") ? to : joinPath(parentOf(path), to);
        await api.move(path, target);
        after(target);
        refresh();
      },
    });
  const closeRemoved = (path: string): void => {
    for (const draft of drafts.keys()) if (draft === path || draft.startsWith(`${path}/`)) drafts.delete(draft);
    if (open === path || open?.startsWith(`${path}/`)) setOpen(undefined);
    refresh();
  };

  return (
    <section
      className="files"
      data-over={isDragOver}
      aria-label="Files"
      onDragOver={(event) => {
        event.preventDefault();
        setIsDragOver(true);
      }}
      onDragLeave={() => setIsDragOver(false)}
      onDrop={onDrop}
    >
      <FilesBar
        root={root}
        folder={folder}
        task={task}
        onRoot={(path) => {
          setRoot(path);
          setFolder(path);
          refresh();
        }}
        onUpload={(files) => upload(Promise.resolve(files))}
        onMakeFile={makeFile}
        onMakeFolder={makeFolder}
        onMove={() =>
          move(folder, (to) => {
            closeRemoved(folder);
            setFolder(to);
          })
        }
        onDelete={() =>
          task.run(async () => {
            await api.remove(folder);
            closeRemoved(folder);
            setFolder(parentOf(folder));
          })
        }
        onRefresh={refresh}
      />
      <p className="files-status muted small" role="status">
        {status || `Drop files and folders here to upload them to ${folder}`}
      </p>
      <Alert text={task.error} />
      <div className="files-body" data-open={open !== undefined}>
        <div className="files-tree">
          <Tree
            path={root}
            revision={revision}
            current={open ?? folder}
            onFolder={(path) => {
              setFolder(path);
              setStatus("");
            }}
            onFile={setOpen}
          />
        </div>
        {open !== undefined && (
          <Viewer
            key={open}
            path={open}
            drafts={drafts}
            onMove={() =>
              move(open, (to) => {
                closeRemoved(open);
                setOpen(to);
              })
            }
            onGone={() => closeRemoved(open)}
            onClose={() => setOpen(undefined)}
          />
        )}
      </div>
      {namePrompt && <NameDialog namePrompt={namePrompt} onClose={() => setNamePrompt(undefined)} />}
    </section>
  );
}

/** Refreshes when something below the folder has changed. If the watch fails, the user can still press "Refresh". */
function useChanges(path: string, onChange: () => void): void {
  const { api } = useWorkbench();
  useEffect(() => {
    const stopping = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        onChange();
      }, SETTLED_MS);
    };
    api.watch(path, changed, stopping.signal).catch(() => undefined);
    return () => {
      stopping.abort();
      clearTimeout(timer);
    };
  }, [api, path, onChange]);
}

/** Makes the browser ask the user before a page with unsaved changes is closed. */
function useWarning(drafts: Drafts): void {
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent): void => {
      if (drafts.size > 0) event.preventDefault();
    };
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [drafts]);
}
