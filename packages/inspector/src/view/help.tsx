/** The keys that do something, for those who request: with the question mark, or with the button. */

import { useEffect, useRef, useState } from "react";

const KEYS: readonly (readonly [keys: string, does: string])[] = [
  ["Alt+A", "goes to the first question of an agent"],
  ["Alt+1 … Alt+9", "picks an answer to it"],
  ["Enter", "sends the message"],
  ["Shift+Enter", "begins a new line in it"],
  ["/", "at the beginning of a message, offers the agent's commands; the arrows choose, Tab takes"],
  ["Escape", "in the message, cancels the turn"],
  ["↑ ↓", "in the raw lines, goes from line to line"],
  ["Ctrl+S, Ctrl+F", "in a file, saves and searches"],
  ["?", "shows this list"],
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
