/** The colours of code, in the editor and everywhere else. */

import { type Tag, tags } from "@lezer/highlight";

/** The style for some kinds of tokens. The values are the page's CSS variables, so that they follow the theme. */
export interface TokenStyle {
  readonly tag: readonly Tag[];
  readonly style: Readonly<Record<string, string>>;
}

export const TOKEN_STYLES: Readonly<Record<string, TokenStyle>> = {
  comment: { tag: [tags.comment, tags.meta], style: { color: "var(--muted)", fontStyle: "italic" } },
  keyword: {
    tag: [tags.keyword, tags.bool, tags.null, tags.typeName, tags.modifier],
    style: { color: "var(--code-keyword)" },
  },
  string: { tag: [tags.string, tags.regexp, tags.attributeValue, tags.inserted], style: { color: "var(--good)" } },
  number: { tag: [tags.number, tags.atom, tags.escape], style: { color: "var(--code-number)" } },
  name: {
    tag: [tags.function(tags.variableName), tags.definition(tags.variableName), tags.propertyName, tags.tagName],
    style: { color: "var(--accent)" },
  },
  heading: { tag: [tags.heading, tags.strong], style: { fontWeight: "bold" } },
  emphasis: { tag: [tags.emphasis], style: { fontStyle: "italic" } },
  link: { tag: [tags.link, tags.url], style: { color: "var(--accent)", textDecoration: "underline" } },
  invalid: { tag: [tags.deleted, tags.invalid], style: { color: "var(--bad)" } },
};
