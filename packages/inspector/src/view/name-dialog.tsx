/** A dialog that asks for a name or a path. */

import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { Alert } from "./alert.tsx";
import { useTask } from "./task.ts";

export interface NamePrompt {
  readonly title: string;
  readonly label: string;
  readonly initial: string;
  readonly button: string;
  /** Called with the name. If the returned promise rejects, the dialog stays open and shows the error. */
  done(name: string): Promise<void>;
}

export function NameDialog({
  namePrompt,
  onClose,
}: {
  readonly namePrompt: NamePrompt;
  onClose(): void;
}): React.ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [name, setName] = useState(namePrompt.initial);
  const task = useTask();
  const title = useId();
  useEffect(() => dialog.current?.showModal(), []);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const wanted = name.trim();
    if (wanted === "" || task.isBusy) return;
    task.run(async () => {
      await namePrompt.done(wanted);
      onClose();
    });
  };
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby={title}>
      <h2 id={title}>{namePrompt.title}</h2>
      <form className="name-form" onSubmit={submit}>
        <label>
          {namePrompt.label}
          <input name="name" value={name} onChange={(event) => setName(event.target.value)} spellCheck={false} />
        </label>
        <Alert text={task.error} isSmall />
        <div className="choices">
          <button type="submit" className="primary" disabled={task.isBusy || name.trim() === ""}>
            {namePrompt.button}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
