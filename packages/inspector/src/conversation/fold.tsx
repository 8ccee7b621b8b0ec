/**
 * Foldable parts of a conversation. Whether a part is open is stored outside of its component, because rows that are
 * out of view are unmounted.
 */

import { createContext, useContext, useState } from "react";

/** Which parts the user has opened (true) or closed (false), by key. */
export type Folds = Map<string, boolean>;

export const FoldsContext = createContext<Folds | undefined>(undefined);

/** Returns whether a part is open, and a function that opens or closes it. `isOpenAtFirst` is the default. */
export function useFold(key: string, isOpenAtFirst: boolean): readonly [boolean, (isOpen: boolean) => void] {
  const folds = useContext(FoldsContext);
  const [own, setOwn] = useState<boolean>();
  const choose = (isOpen: boolean): void => {
    folds?.set(key, isOpen);
    setOwn(isOpen);
  };
  return [(folds ? folds.get(key) : own) ?? isOpenAtFirst, choose];
}

/** Opens a tool call or a thought, and the parts inside of it. The caller must render its row again. */
export function unfold(folds: Folds, key: string): void {
  for (const name of [key, inputOf(key), outputOf(key)]) folds.set(name, true);
}

/** The names of the parts of a tool call. */
export const inputOf = (key: string): string => `${key} input`;
export const outputOf = (key: string): string => `${key} output`;

interface Props {
  readonly name: string;
  readonly className: string;
  readonly isOpenAtFirst?: boolean;
  readonly status?: string;
  readonly summary: React.ReactNode;
  /** The content; rendered only while the part is open. */
  content(): React.ReactNode;
}

/** A foldable part. */
export function Fold({ name, className, isOpenAtFirst = false, status, summary, content }: Props): React.ReactNode {
  const [isOpen, setIsOpen] = useFold(name, isOpenAtFirst);
  return (
    <details
      className={className}
      data-status={status}
      open={isOpen}
      onToggle={(event) => {
        // Toggle events of nested folds bubble up to here: only this fold's own events count.
        if (event.target === event.currentTarget && event.currentTarget.open !== isOpen) {
          setIsOpen(event.currentTarget.open);
        }
      }}
    >
      <summary>{summary}</summary>
      {isOpen && content()}
    </details>
  );
}
