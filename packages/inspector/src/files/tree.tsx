/** The folder tree. The entries of a folder are requested when the user opens it. */

import { useEffect, useState } from "react";
import type { FileEntry } from "../server/api.ts";
import { errorMessage } from "../server/http.ts";
import { sizeText } from "../text/size.ts";
import { useWorkbench } from "../view/context.ts";
import { FileIcon, FolderIcon, LinkIcon } from "../view/icons.tsx";

/** How many entries are shown at once. */
const SHOWN = 1000;

interface Props {
  readonly path: string;
  /** A new value triggers a refresh. */
  readonly revision: number;
  readonly current: string;
  onFolder(path: string): void;
  onFile(path: string): void;
}

export function Tree(props: Props): React.ReactNode {
  const { api } = useWorkbench();
  const { path, revision } = props;
  const [entries, setEntries] = useState<readonly FileEntry[]>();
  const [error, setError] = useState<string>();

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new revision triggers a refresh.
  useEffect(() => {
    let isCurrent = true;
    api.list(path).then(
      (found) => {
        if (!isCurrent) return;
        setEntries(found);
        setError(undefined);
      },
      (failure: unknown) => isCurrent && setError(errorMessage(failure)),
    );
    return () => {
      isCurrent = false;
    };
  }, [api, path, revision]);

  if (error) return <p className="alert small">{error}</p>;
  if (!entries) return <p className="muted small">…</p>;
  if (entries.length === 0) return <p className="muted small">empty</p>;
  return (
    <ul className="tree">
      {entries.slice(0, SHOWN).map((entry) => (
        <li key={entry.path}>
          {entry.entryType === "directory" ? <Folder {...props} entry={entry} /> : <File {...props} entry={entry} />}
        </li>
      ))}
      {entries.length > SHOWN && <li className="muted small">and {entries.length - SHOWN} more</li>}
    </ul>
  );
}

function Folder(props: Props & { readonly entry: FileEntry }): React.ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const { entry, current, onFolder } = props;
  return (
    <>
      <button
        type="button"
        className="tree-row"
        aria-expanded={isOpen}
        data-current={current === entry.path}
        onClick={() => {
          setIsOpen(!isOpen);
          onFolder(entry.path);
        }}
      >
        <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> <FolderIcon />{" "}
        <span className="ellipsis">{entry.name}</span>
      </button>
      {isOpen && <Tree {...props} path={entry.path} />}
    </>
  );
}

function File({ entry, current, onFile }: Props & { readonly entry: FileEntry }): React.ReactNode {
  return (
    <button type="button" className="tree-row" data-current={current === entry.path} onClick={() => onFile(entry.path)}>
      {entry.entryType === "symlink" ? <LinkIcon /> : <FileIcon />} <span className="ellipsis">{entry.name}</span>
      <small className="muted">{sizeText(entry.size)}</small>
    </button>
  );
}
