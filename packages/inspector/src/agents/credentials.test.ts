import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { credentialNames, credentialVariable } from "./credentials.ts";

test("the names of credentials are those of the generated documentation", () => {
  const page = readFileSync(new URL("../../../../docs/agents.md", import.meta.url), "utf8");
  const sections = page.split(/^## /m).slice(1);
  const documented = sections.flatMap((section) => {
    const [, names] = /^- Credentials \(any of\): (.*)$/m.exec(section) ?? [];
    return names === undefined
      ? []
      : [[section.split("\n")[0], [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name)]];
  });
  expect(documented.length).toBeGreaterThan(5);
  for (const [agent, names] of documented) expect([agent, credentialNames(String(agent))]).toEqual([agent, names]);
});

test("the variable to set is the first name that is not a file", () => {
  expect(credentialVariable("claude")).toBe("ANTHROPIC_API_KEY");
  expect(credentialVariable("an agent of the registry")).toBeUndefined();
  expect(credentialVariable("toString")).toBeUndefined();
});
