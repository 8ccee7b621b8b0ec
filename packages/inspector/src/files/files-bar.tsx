/** The toolbar of the file view: the root folder, and actions on the selected folder. */

import { useRef, useState } from "react";
import { ConfirmButton } from "../view/confirm-button.tsx";
import { useWorkbench } from "../view/context.ts";
import { downloadBlob } from "../view/export.ts";
import { FolderIcon } from "../view/icons.tsx";
import type { Task } from "../view/task.ts";
import { nameOf } from "./content.ts";
import type { Dropped } from "./dropped.ts";

/** The attribute that makes a file input select folders. Browsers support it; React's types lack it. */
const WHOLE_FOLDERS = { webkitdirectory: "" };

interface Props {
  readonly root: string;
  readonly folder: string;
  readonly task: Task;
  onRoot(path: string): void;
  onUpload(files: readonly Dropped[]): void;
  onMakeFile(): void;
  onMakeFolder(): void;
  onMove(): void;
  onDelete(): void;
  onRefresh(): void;
}

export function FilesBar(props: Props): React.ReactNode {
  const { root, folder, task, onRoot, onUpload } = props;
  const { api } = useWorkbench();
  const [typed, setTyped] = useState(root);
  const files = useRef<HTMLInputElement>(null);
  const folders = useRef<HTMLInputElement>(null);

  const picked = ({ target }: React.ChangeEvent<HTMLInputElement>): void => {
    // Files of a picked folder carry their relative path.
    const list = [...(target.files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
    target.value = "";
    onUpload(list);
  };

  return (
    <>
      <form
        className="raw-bar"
        onSubmit={(event) => {
          event.preventDefault();
          onRoot(typed);
        }}
      >
        <input
          className="files-root"
          aria-label="Folder to show"
          value={typed}
          spellCheck={false}
          onChange={(event) => setTyped(event.target.value)}
        />
        <button type="submit" disabled={typed === root}>
          Show
        </button>
        <button type="button" onClick={props.onRefresh}>
          Refresh
        </button>
      </form>
      <div className="raw-bar">
        <span className="files-folder ellipsis" title={folder}>
          <FolderIcon /> {nameOf(folder)}
        </span>
        <input ref={files} type="file" multiple hidden data-purpose="upload" onChange={picked} />
        <input ref={folders} type="file" {...WHOLE_FOLDERS} hidden data-purpose="upload-folder" onChange={picked} />
        <button type="button" disabled={task.isBusy} onClick={() => files.current?.click()}>
          Upload files
        </button>
        <button type="button" disabled={task.isBusy} onClick={() => folders.current?.click()}>
          Upload folder
        </button>
        <button type="button" onClick={props.onMakeFile}>
          New file
        </button>
        <button type="button" onClick={props.onMakeFolder}>
          New folder
        </button>
        <button
          type="button"
          disabled={task.isBusy}
          aria-label="Download folder"
          onClick={() => task.run(async () => downloadBlob(`${nameOf(folder)}.tar.gz`, await api.pack(folder)))}
        >
          Download
        </button>
        {folder !== root && (
          <>
            <button type="button" aria-label="Move folder" onClick={props.onMove}>
              Move
            </button>
            <ConfirmButton
              name="Delete folder"
              question={`Really delete ${nameOf(folder)}`}
              isBusy={task.isBusy}
              onConfirm={props.onDelete}
            />
          </>
        )}
      </div>
    </>
  );
}
