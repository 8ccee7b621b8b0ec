/** Bundles the built packages for browsers with several bundlers, and runs the bundles in a real browser. */

import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { startSite, visit } from "./testing/browser.ts";
import { BUNDLERS } from "./testing/bundlers.ts";
import { temporaryFolder } from "./testing/folder.ts";
import { startTestServer } from "./testing/server.ts";

const PAGE = fileURLToPath(new URL("./testing/bundled-page.js", import.meta.url));

it.each(Object.entries(BUNDLERS))(
  "a bundle made by %s works in a browser",
  async (_, bundle) => {
    const scripts = await bundle(PAGE);
    // The bundle imports no module of Node.js, not even lazily.
    expect([...scripts.values()].join("\n").match(/node:[a-z_]+/g)).toBeNull();
    const site = await startSite<object>(scripts);
    const server = await startTestServer({ args: ["--cors-allow-origin", site.origin] });
    const query = new URLSearchParams({ baseUrl: server.baseUrl, token: server.token });
    const report = await visit(`${site.origin}/?${query}`, await temporaryFolder(), site.next());
    expect(report).toEqual({
      text: "bundled",
      first: "turn.started",
      last: "turn.ended",
      protocolVersion: 1,
      started: { code: "unsupported_here", message: expect.stringContaining("browser") },
    });
  },
  60_000,
);
