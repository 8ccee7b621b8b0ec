import { expect, test } from "vitest";
import { withoutColours } from "./colours.ts";

test("control sequences are removed, and all other text is kept", () => {
  expect(withoutColours("\u001b[1;31mred\u001b[0m [1] \u001b[?25lx\u001b]8;;http://a\u0007link\u001b]8;;\u0007")).toBe(
    "red [1] xlink",
  );
});
