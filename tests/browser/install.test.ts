/** Installing an agent from the page: state, progress, and the start behind it. */

import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { BINARY, type Server, startServer } from "./harness/server.ts";

let server: Server;
let browser: Browser;
let folder: string;
let shop: HttpServer;
let served = 0;
const opened = Promise.withResolvers<void>();
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "shop-"));
  // Hands the program out only when the page has been seen to wait for it.
  shop = createServer((_, answer) => {
    served += 1;
    opened.promise.then(() => createReadStream(join(dirname(BINARY), "mock-agent")).pipe(answer));
  });
  await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
  const archive = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/tiny`;
  const binary = Object.fromEntries(
    ["linux-x86_64", "linux-aarch64", "darwin-x86_64", "darwin-aarch64"].map((platform) => [
      platform,
      { archive, cmd: "./tiny" },
    ]),
  );
  const agent = { id: "tiny", name: "Tiny agent", version: "1.0.0", description: "", distribution: { binary } };
  const broken = { ...agent, id: "nowhere", name: "Nowhere agent", distribution: { binary: nowhereOf(binary) } };
  const list = join(folder, "registry.json");
  await writeFile(list, JSON.stringify({ version: "1", agents: [agent, broken] }));
  server = await startServer({ registry: pathToFileURL(list).href });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  shop?.closeAllConnections();
  shop?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Programs that nobody hands out: nothing listens on that port. */
function nowhereOf(binary: Readonly<Record<string, object>>): object {
  const archive = "http://127.0.0.1:9/nowhere";
  return Object.fromEntries(Object.entries(binary).map(([platform, program]) => [platform, { ...program, archive }]));
}

test("an agent is installed with its progress shown, then started", async () => {
  await browser.open(`${server.base}/ui/`);
  await browser.press("Install Tiny agent");
  await browser.until("document.querySelector('progress')");
  await browser.picture("installing");
  opened.resolve();
  await browser.press("Start Tiny agent");
  await browser.say("echo installed and alive");
  await browser.untilShown("installed and alive");
});

test("the agents' view has their state, finds them by name, and tells why one cannot be installed", async () => {
  await browser.evaluate("location.hash = '#/agents'");
  const row = (name: string): string =>
    `[...document.querySelectorAll(".agent-row")].find((row) => row.innerText.includes("${name}"))`;
  await browser.until(`${row("Tiny agent")}?.innerText.includes("1.0.0")`);
  assert.match(await browser.evaluate(`${row("Tiny agent")}.innerText`), /from registry · running/);
  assert.equal(await browser.evaluate(`${row("Tiny agent")}.querySelector(".chip").innerText`), "installed");
  assert.equal(await browser.evaluate(`${row("Mock agent")}.querySelector(".install button")`), null);
  await browser.run("fill", "input[aria-label='Find an agent']", "nowhere");
  await browser.until("document.querySelectorAll('.agent-row').length === 1");
  assert.equal(await browser.evaluate(`${row("Nowhere agent")}.querySelector(".chip").innerText`), "not installed");
  await browser.press("Install Nowhere agent");
  await browser.until(`${row("Nowhere agent")}.querySelector(".alert")`);
  await browser.picture("install-failed");
  await browser.run("fill", "input[aria-label='Find an agent']", "nobody is called this");
  await browser.untilShown("No agent is called that.");
});

test("an installed agent is installed again on request", async () => {
  await browser.run("fill", "input[aria-label='Find an agent']", "tiny");
  await browser.until("document.querySelectorAll('.agent-row').length === 1");
  await browser.evaluate("document.querySelector('.agent-row summary').click()");
  const before = served;
  await browser.press("Install again");
  await browser.until("!document.querySelector('.agent-row details button').disabled");
  assert.ok(served > before, "nothing was fetched");
});
