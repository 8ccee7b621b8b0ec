/** The package in a real browser: bundled like an application, against a server on another origin. */

import { expect, it } from "vitest";
import { bundle, startSite, visit } from "./testing/browser.ts";
import type { Visit } from "./testing/browser-page.ts";
import { temporaryFolder } from "./testing/folder.ts";
import type { PageResult } from "./testing/page-vitest.ts";
import { startTestServer } from "./testing/server.ts";

it("works in a browser, and a session continues after the browser was closed", async () => {
  const site = await startSite<Visit>(await bundle("./browser-page.ts"));
  const server = await startTestServer({ args: ["--cors-allow-origin", site.origin] });
  const profile = await temporaryFolder();
  const query = new URLSearchParams({ baseUrl: server.baseUrl, token: server.token });
  const first = await visit(`${site.origin}/?${query}`, profile, site.next());
  expect(first).toMatchObject({
    sessions: [],
    openedBy: "new",
    text: "kept in the browser",
    files: "hello",
    permission: expect.stringContaining("allow-always"),
  });
  expect(first.events.map(([sequence]) => sequence)).toEqual(first.events.map((_, index) => index + 1));
  const second = await visit(`${site.origin}/?${query}`, profile, site.next());
  expect(second).toMatchObject({ sessions: ["in-the-browser"], openedBy: "replayed" });
  expect(second.text).toContain("kept in the browser");
  expect(second.events.length).toBeGreaterThan(first.events.length);
}, 60_000);

it("the IndexedDB store passes the conformance suite in a real browser", async () => {
  const scripts = await bundle("./store-page.ts", { vitest: "./page-vitest.ts" });
  const site = await startSite<readonly PageResult[]>(scripts);
  const results = await visit(site.origin, await temporaryFolder(), site.next());
  expect(results.filter(({ failure }) => failure !== undefined)).toEqual([]);
  expect(results.length).toBeGreaterThanOrEqual(13);
}, 60_000);
