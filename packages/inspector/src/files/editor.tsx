/**
 * The text editor. It lives in a shadow root, where CodeMirror uses adopted style sheets instead of the style elements
 * that the page's content security policy forbids. The editor is large, so the page loads this module only when it is
 * needed.
 */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { languageOfFile } from "../text/highlight.ts";
import { nameOf, separatorOf } from "./content.ts";
import { HIGHLIGHTING, THEME } from "./editor-theme.ts";

interface Props {
  readonly path: string;
  /** The file's text. When it changes, it replaces the edited text. */
  readonly text: string;
  /** The text to start with: the file's text, or the user's unsaved version of it. */
  readonly draft: string;
  onChange(text: string): void;
  onSave(): void;
}

export default function Editor({ path, text, draft, onChange, onSave }: Props): React.ReactNode {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const given = useRef(text);
  // The editor is created once per file, but must always call the newest handlers.
  const calls = useRef({ onChange, onSave });
  calls.current = { onChange, onSave };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is created once per file.
  useEffect(() => {
    if (!host.current) return undefined;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const language = new Compartment();
    const save = (): boolean => {
      calls.current.onSave();
      return true;
    };
    const extensions = [
      ...setup(path, text),
      keymap.of([
        { key: "Mod-s", run: save, preventDefault: true },
        ...defaultKeymap,
        ...historyKeymap,
        ...searchKeymap,
      ]),
      language.of([]),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) calls.current.onChange(update.state.sliceDoc());
      }),
    ];
    const made = new EditorView({ root, parent: root, state: EditorState.create({ doc: draft, extensions }) });
    view.current = made;
    let isCurrent = true;
    const described = languageOfFile(path);
    void described?.load().then((support) => {
      if (isCurrent) made.dispatch({ effects: language.reconfigure(support) });
    });
    return () => {
      isCurrent = false;
      made.destroy();
    };
  }, [path]);

  useEffect(() => {
    const made = view.current;
    if (!made || given.current === text) return;
    given.current = text;
    if (made.state.sliceDoc() !== text)
      made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: text } });
  }, [text]);

  return <div className="editor" ref={host} />;
}

/**
 * Replaces a selection when the user types. The browser would write inline styles to preserve the selection's
 * formatting, which the content security policy forbids.
 */
const typingOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const isOver = event.inputType === "insertText" && !event.isComposing && !view.state.selection.main.empty;
    if (!isOver || event.data === null) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    event.preventDefault();
    return true;
  },
});

function setup(path: string, text: string): readonly Extension[] {
  return [
    THEME,
    syntaxHighlighting(HIGHLIGHTING),
    lineNumbers(),
    history(),
    highlightSpecialChars(),
    highlightSelectionMatches(),
    indentOnInput(),
    bracketMatching(),
    typingOver,
    // Preserves the file's line endings.
    EditorState.lineSeparator.of(separatorOf(text)),
    EditorView.contentAttributes.of({ "aria-label": `Text of ${nameOf(path)}` }),
  ];
}
