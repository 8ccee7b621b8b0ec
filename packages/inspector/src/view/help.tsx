/** The list of keyboard shortcuts. The question mark key or a button opens it. */

import { useEffect, useRef, useState } from "react";

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["Alt+A", "focus the first open agent request"],
  ["Alt+1 … Alt+9", "press its numbered buttons"],
  ["Enter", "send the message"],
  ["Shift+Enter", "insert a line break"],
  ["/", "at the start of a message: list the agent's commands; the arrow keys select, Tab completes"],
  ["Escape", "in the message input: cancel the turn"],
  ["Ctrl+F", "in a conversation: search it; Enter and Shift+Enter go to the previous and the next place"],
  ["↑ ↓", "in the raw view: select the previous or next event"],
  ["Ctrl+S, Ctrl+F", "in a file: save, search"],
  ["?", "show this list"],
];

export function Help(): React.ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping = event.composedPath().some((target) => target instanceof HTMLElement && isField(target));
      if (event.key === "?" && !isTyping) setIsOpen(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  return (
    <>
      <button type="button" className="icon" aria-label="Keyboard" title="Keyboard" onClick={() => setIsOpen(true)}>
        ?
      </button>
      {isOpen && (
        <dialog ref={dialog} onClose={() => setIsOpen(false)} aria-labelledby="keys-title">
          <h2 id="keys-title">Keyboard</h2>
          <dl className="facts">
            {KEYS.map(([keys, does]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </dialog>
      )}
    </>
  );
}

function isField(element: HTMLElement): boolean {
  return element.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(element.tagName);
}
