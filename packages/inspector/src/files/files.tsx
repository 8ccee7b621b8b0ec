/** The sandbox's files: look, change, bring, take. */

import { type DragEvent, useCallback, useEffect, useState } from "react";
import { useWorkbench } from "../view/context.ts";
import { NameDialog, type Naming } from "../view/name-dialog.tsx";
import { useTask } from "../view/task.ts";
import { nameOf } from "./content.ts";
import { type Dropped, droppedFiles } from "./dropped.ts";
import { FilesBar } from "./files-bar.tsx";
import { joinPath, parentOf } from "./path.ts";
import { Tree } from "./tree.tsx";
import { type Drafts, Viewer } from "./viewer.tsx";
import "../style/files.css";

/** Changes come in crowds; the folders are looked at again when one has passed. */
const SETTLED_MS = 300;

export default function FilesView(): React.ReactNode {
  const { api, workspace } = useWorkbench();
  const [root, setRoot] = useState(workspace);
  const [folder, setFolder] = useState(workspace);
  const [open, setOpen] = useState<string>();
  const [round, setRound] = useState(0);
  const [isOver, setIsOver] = useState(false);
  const [told, setTold] = useState("");
  const [naming, setNaming] = useState<Naming>();
  const [drafts] = useState<Drafts>(() => new Map());
  const task = useTask();
  const refresh = useCallback(() => setRound((count) => count + 1), []);
  useChanges(root, refresh);
  useWarning(drafts);

  const bring = (files: Promise<readonly Dropped[]>): void =>
    task.run(async () => {
      const list = await files;
      for (const [index, { path, file }] of list.entries()) {
        setTold(`Uploading ${index + 1} of ${list.length}: ${path}`);
        await api.write(joinPath(folder, path), file);
      }
      setTold(`${list.length === 1 ? list[0]?.path : `${list.length} files`} uploaded to ${folder}`);
      refresh();
    });
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setIsOver(false);
    bring(droppedFiles(event.dataTransfer));
  };
  const makeFolder = (): void =>
    setNaming({
      title: `New folder in ${folder}`,
      label: "Name",
      initial: "",
      button: "Make folder",
      done: async (name) => {
        await api.makeFolder(joinPath(folder, name));
        refresh();
      },
    });
  const move = (path: string, after: (to: string) => void): void =>
    setNaming({
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
  const goneFrom = (path: string): void => {
    for (const draft of drafts.keys()) if (draft === path || draft.startsWith(`${path}/`)) drafts.delete(draft);
    if (open === path || open?.startsWith(`${path}/`)) setOpen(undefined);
    refresh();
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
      <FilesBar
        root={root}
        folder={folder}
        task={task}
        onRoot={(path) => {
          setRoot(path);
          setFolder(path);
          refresh();
        }}
        onBring={(files) => bring(Promise.resolve(files))}
        onMakeFolder={makeFolder}
        onMove={() =>
          move(folder, (to) => {
            goneFrom(folder);
            setFolder(to);
          })
        }
        onDelete={() =>
          task.run(async () => {
            await api.remove(folder);
            goneFrom(folder);
            setFolder(parentOf(folder));
          })
        }
        onRefresh={refresh}
      />
      <p className="files-told muted small" role="status">
        {told || `Files and folders dropped here go to ${folder}`}
      </p>
      {task.error && (
        <p role="alert" className="alert">
          {task.error}
        </p>
      )}
      <div className="files-body" data-open={open !== undefined}>
        <div className="files-tree">
          <Tree
            path={root}
            round={round}
            current={open ?? folder}
            onFolder={(path) => {
              setFolder(path);
              setTold("");
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
                goneFrom(open);
                setOpen(to);
              })
            }
            onGone={() => goneFrom(open)}
            onClose={() => setOpen(undefined)}
          />
        )}
      </div>
      {naming && <NameDialog naming={naming} onClose={() => setNaming(undefined)} />}
    </section>
  );
}

/** Looks again when something below the folder has changed. Where that cannot be told, there is a button. */
function useChanges(path: string, onChange: () => void): void {
  const { api } = useWorkbench();
  useEffect(() => {
    const over = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = (): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        onChange();
      }, SETTLED_MS);
    };
    api.watch(path, changed, over.signal).catch(() => undefined);
    return () => {
      over.abort();
      clearTimeout(timer);
    };
  }, [api, path, onChange]);
}

/** The browser asks before what was changed and not saved is lost. */
function useWarning(drafts: Drafts): void {
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent): void => {
      if (drafts.size > 0) event.preventDefault();
    };
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [drafts]);
}
