/** The package in a real browser: built as an application would build it, against a server on another origin. */

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { expect, it, onTestFinished } from "vitest";
import type { Visit } from "./testing/browser-page.ts";
import { temporaryFolder } from "./testing/folder.ts";
import { startTestServer } from "./testing/server.ts";

const BROWSER = process.env.CHROMIUM ?? "chromium";

/** The page's program, bundled: its files by path. */
async function bundle(): Promise<Map<string, string>> {
  const entry = fileURLToPath(new URL("./testing/browser-page.ts", import.meta.url));
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: { write: false, minify: false, lib: { entry, formats: ["es"], fileName: "page" } },
  });
  const [output] = Array.isArray(built) ? built : [built];
  const chunks = output && "output" in output ? output.output : [];
  return new Map(chunks.map((chunk) => [`/${chunk.fileName}`, chunk.type === "chunk" ? chunk.code : ""]));
}

/** Serves the page and waits for what it has to say. */
async function startSite(scripts: ReadonlyMap<string, string>) {
  let done = (_: Visit): void => {};
  const site = createServer((request, response) => {
    if (request.url === "/done") {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      request.on("end", () => {
        response.end();
        done(JSON.parse(body) as Visit);
      });
    } else if (scripts.has(request.url ?? "")) {
      response.setHeader("Content-Type", "text/javascript").end(scripts.get(request.url ?? ""));
    } else {
      response.setHeader("Content-Type", "text/html").end('<script type="module" src="/page.js"></script>');
    }
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    site.closeAllConnections();
    site.close();
  });
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  return {
    origin,
    next: () =>
      new Promise<Visit>((resolve) => {
        done = resolve;
      }),
  };
}

/** Opens a page in a browser of its own until the page has said what it has to say. */
async function browse(url: string, profile: string, said: Promise<Visit>): Promise<Visit> {
  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", `--user-data-dir=${profile}`, url];
  const browser = spawn(BROWSER, args, { stdio: "ignore" });
  onTestFinished(() => void browser.kill());
  const failed = new Promise<never>((_, reject) => {
    browser.once("error", reject);
    browser.once("exit", (code) => reject(new Error(`the browser ended with ${code}`)));
  });
  failed.catch(() => {});
  try {
    return await Promise.race([said, failed]);
  } finally {
    const gone = new Promise((resolve) => browser.once("exit", resolve));
    browser.kill();
    await gone;
  }
}

it("works in a browser, and a session goes on after the browser was closed", async () => {
  const site = await startSite(await bundle());
  const server = await startTestServer({ args: ["--cors-allow-origin", site.origin] });
  const profile = await temporaryFolder();
  const query = new URLSearchParams({ baseUrl: server.baseUrl, token: server.token });
  const first = await browse(`${site.origin}/?${query}`, profile, site.next());
  expect(first).toMatchObject({
    sessions: [],
    openedBy: "new",
    text: "kept in the browser",
    files: "hello",
    permission: expect.stringContaining("allow-always"),
  });
  expect(first.events.map(([sequence]) => sequence)).toEqual(first.events.map((_, index) => index + 1));
  const second = await browse(`${site.origin}/?${query}`, profile, site.next());
  expect(second).toMatchObject({ sessions: ["in-the-browser"], openedBy: "replayed" });
  expect(second.text).toContain("kept in the browser");
  expect(second.events.length).toBeGreaterThan(first.events.length);
}, 60_000);
