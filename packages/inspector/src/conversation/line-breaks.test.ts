import { expect, test } from "vitest";
import { remarkLineBreaks } from "./line-breaks.ts";

test("newlines in text become breaks, and those in code stay", () => {
  const text = (value: string) => ({ type: "text", value });
  const code = { type: "code", value: "a\nb" };
  const tree = { type: "root", children: [{ type: "paragraph", children: [text("one\ntwo"), text("three")] }, code] };
  remarkLineBreaks()(tree);
  expect(tree.children).toEqual([
    { type: "paragraph", children: [text("one"), { type: "break" }, text("two"), text("three")] },
    code,
  ]);
});
