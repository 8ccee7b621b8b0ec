/** A real browser for tests: bundles a page, serves it, and visits it with a profile of its own. */

import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { onTestFinished } from "vitest";

const BROWSER = process.env.CHROMIUM ?? "chromium";

/** The page's script and its chunks, by path. */
export type Scripts = ReadonlyMap<string, string>;

/** Bundles a page's script. `alias` replaces modules. */
export async function bundle(entry: string, alias: Readonly<Record<string, string>> = {}): Promise<Scripts> {
  const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  const built = await build({
    configFile: false,
    logLevel: "silent",
    resolve: { alias: Object.fromEntries(Object.entries(alias).map(([from, to]) => [from, path(to)])) },
    build: { write: false, minify: false, lib: { entry: path(entry), formats: ["es"], fileName: "page" } },
  });
  const [output] = Array.isArray(built) ? built : [built];
  const chunks = output && "output" in output ? output.output : [];
  return new Map(chunks.map((chunk) => [`/${chunk.fileName}`, chunk.type === "chunk" ? chunk.code : ""]));
}

/** A site with one page on it. */
export interface Site<Result> {
  readonly origin: string;
  /** Resolves with the next report that the page posts to `/done`. */
  next(): Promise<Result>;
}

/** Serves a page until the test has finished. */
export async function startSite<Result>(scripts: Scripts): Promise<Site<Result>> {
  let done = (_: Result): void => {};
  const site = createServer((request, response) => {
    if (request.url === "/done") {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      request.on("end", () => {
        response.end();
        done(JSON.parse(body) as Result);
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
  return {
    origin: `http://127.0.0.1:${(site.address() as AddressInfo).port}`,
    next: () =>
      new Promise((resolve) => {
        done = resolve;
      }),
  };
}

/** Opens a page in a new browser until the page has posted its report. */
export async function visit<Result>(url: string, profile: string, result: Promise<Result>): Promise<Result> {
  const args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", `--user-data-dir=${profile}`, url];
  const browser = spawn(BROWSER, args, { stdio: "ignore" });
  onTestFinished(() => void browser.kill());
  const failed = new Promise<never>((_, reject) => {
    browser.once("error", reject);
    browser.once("exit", (code) => reject(new Error(`the browser ended with ${code}`)));
  });
  failed.catch(() => {});
  try {
    return await Promise.race([result, failed]);
  } finally {
    const gone = new Promise((resolve) => browser.once("exit", resolve));
    browser.kill();
    await gone;
  }
}
