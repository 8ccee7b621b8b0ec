/** The editor's theme. It uses the page's colours: CSS variables also apply inside the editor's shadow root. */

import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { TOKEN_STYLES } from "../text/token-styles.ts";

export const THEME = EditorView.theme({
  "&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "0.85rem" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--accent)", padding: "0.5rem 0" },
  ".cm-gutters": { color: "var(--muted)", backgroundColor: "var(--panel)", borderRight: "1px solid var(--line)" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 0.6rem", minWidth: "2.4rem" },
  ".cm-content ::selection": { backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent)" },
  ".cm-matchingBracket": { backgroundColor: "var(--accent-soft) !important" },
  ".cm-selectionMatch": { backgroundColor: "var(--busy-soft)" },
  ".cm-panels": { color: "var(--ink)", backgroundColor: "var(--panel)", borderColor: "var(--line)" },
  ".cm-panel.cm-search": { padding: "0.4rem 0.6rem" },
  ".cm-textfield": { backgroundColor: "var(--paper)", border: "1px solid var(--line)", color: "inherit" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--raised)", border: "1px solid var(--line)" },
  ".cm-searchMatch": { backgroundColor: "var(--busy-soft)", outline: "1px solid var(--busy)" },
});

export const HIGHLIGHTING = HighlightStyle.define(
  Object.values(TOKEN_STYLES).map(({ tag, style }) => ({ tag, ...style })),
);
