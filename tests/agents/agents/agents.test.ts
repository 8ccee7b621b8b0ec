import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { AGENTS, QUICK } from "./index.ts";

const manifest = readFileSync(new URL("../../../crates/agent-catalog/manifest/agents.toml", import.meta.url), "utf8");

test("the matrix has exactly the agents of the catalog", () => {
  const catalog = [...manifest.matchAll(/^id = "([^"]+)"$/gm)].map(([, id]) => id);
  assert.deepEqual(AGENTS.map(({ id }) => id).toSorted(), catalog.toSorted());
});

test("the agents of a quick run are in the matrix", () => {
  assert.deepEqual(
    QUICK.filter((name) => !AGENTS.some(({ id }) => id === name)),
    [],
  );
});
