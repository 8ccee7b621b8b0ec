/** Asks for a name or a path. */

import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { useTask } from "./task.ts";

export interface Naming {
  readonly title: string;
  readonly label: string;
  readonly initial: string;
  readonly button: string;
  /** What is done with it; the dialog stays open and says so when that fails. */
  done(name: string): Promise<void>;
}

export function NameDialog({ naming, onClose }: { readonly naming: Naming; onClose(): void }): React.ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [name, setName] = useState(naming.initial);
  const task = useTask();
  const title = useId();
  useEffect(() => dialog.current?.showModal(), []);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const wanted = name.trim();
    if (wanted === "" || task.isBusy) return;
    task.run(async () => {
      await naming.done(wanted);
      onClose();
    });
  };
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby={title}>
      <h2 id={title}>{naming.title}</h2>
      <form className="name-form" onSubmit={submit}>
        <label>
          {naming.label}
          <input name="name" value={name} onChange={(event) => setName(event.target.value)} spellCheck={false} />
        </label>
        {task.error && (
          <p role="alert" className="alert small">
            {task.error}
          </p>
        )}
        <div className="choices">
          <button type="submit" className="primary" disabled={task.isBusy || name.trim() === ""}>
            {naming.button}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
