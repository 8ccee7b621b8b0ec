import { expect, test } from "vitest";
import { fencedCodeAt } from "./fenced-code.ts";

const TEXT = "before\n\n```js\none\n\ntwo\n```\n\nbetween\n\n~~~~\n~~~\n```\n~~~~\nafter";

test.each([
  ["its opening fence", "```js", "one\n\ntwo\n"],
  ["its code", "two", "one\n\ntwo\n"],
  ["a block with other fences in it", "~~~~", "~~~\n```\n"],
])("the code is found from %s", (_, mark, code) => expect(fencedCodeAt(TEXT, TEXT.indexOf(mark))).toBe(code));

test.each(["before", "between", "after"])("there is no code at %s", (mark) =>
  expect(fencedCodeAt(TEXT, TEXT.indexOf(mark))).toBeUndefined(),
);

test("a block that is still open reaches to the end", () => {
  expect(fencedCodeAt("```\na\nb", 5)).toBe("a\nb");
});
