/** Which parts of a conversation are unfolded. Kept outside of them, since a part that is out of view does not exist. */

import { createContext, useContext, useState } from "react";

/** What was unfolded or folded by hand, by key. */
export type Folds = Map<string, boolean>;

export const FoldsContext = createContext<Folds | undefined>(undefined);

/** Whether a part is unfolded: as the user left it, else as it is at first. */
export function useFold(key: string, isOpenAtFirst: boolean): readonly [boolean, (isOpen: boolean) => void] {
  const folds = useContext(FoldsContext);
  const [chosen, setChosen] = useState(folds?.get(key));
  const choose = (isOpen: boolean): void => {
    folds?.set(key, isOpen);
    setChosen(isOpen);
  };
  return [chosen ?? isOpenAtFirst, choose];
}

interface Props {
  readonly name: string;
  readonly className: string;
  readonly isOpenAtFirst?: boolean;
  readonly status?: string;
  readonly summary: React.ReactNode;
  /** What is inside; made only when it is to be seen. */
  content(): React.ReactNode;
}

/** A part that unfolds. */
export function Fold({ name, className, isOpenAtFirst = false, status, summary, content }: Props): React.ReactNode {
  const [isOpen, setIsOpen] = useFold(name, isOpenAtFirst);
  return (
    <details
      className={className}
      data-status={status}
      open={isOpen}
      onToggle={(event) => {
        // A fold inside of this one tells of itself, too.
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
