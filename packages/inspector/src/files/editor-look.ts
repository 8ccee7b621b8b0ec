/** How the editor looks: the page's own colours, which reach into its shadow root as variables. */

import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export const LOOK = EditorView.theme({
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

export const COLOURS = HighlightStyle.define([
  { tag: [tags.comment, tags.meta], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.bool, tags.null, tags.typeName, tags.modifier], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.regexp, tags.attributeValue, tags.inserted], color: "var(--good)" },
  { tag: [tags.number, tags.atom, tags.escape], color: "var(--code-number)" },
  {
    tag: [tags.function(tags.variableName), tags.definition(tags.variableName), tags.propertyName, tags.tagName],
    color: "var(--accent)",
  },
  { tag: [tags.heading, tags.strong], fontWeight: "bold" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: [tags.link, tags.url], color: "var(--accent)", textDecoration: "underline" },
  { tag: [tags.deleted, tags.invalid], color: "var(--bad)" },
]);
