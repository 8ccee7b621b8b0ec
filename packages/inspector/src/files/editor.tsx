/**
 * The editor for text. It lives in a shadow root: there the library brings its styles as sheets, and not as the style
 * elements that this page's policy refuses. In a file of its own because it is heavy and not needed at first.
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
  /** What is in the file; another text replaces what was edited. */
  readonly text: string;
  /** What is shown at first, where it was edited before. */
  readonly draft: string;
  onChange(text: string): void;
  onSave(): void;
}

export default function Editor({ path, text, draft, onChange, onSave }: Props): React.ReactNode {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const given = useRef(text);
  // The editor is made once, and calls what is current.
  const calls = useRef({ onChange, onSave });
  calls.current = { onChange, onSave };

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once for a file.
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
 * Typing over a selection is done here: the browser would keep the look of what is replaced by writing styles into
 * elements, which this page's policy refuses.
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
    // What is not changed is saved as it was, the ends of lines included.
    EditorState.lineSeparator.of(separatorOf(text)),
    EditorView.contentAttributes.of({ "aria-label": `Text of ${nameOf(path)}` }),
  ];
}
