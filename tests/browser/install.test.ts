/** Installing an agent from the page: state, progress, and the start behind it. */

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
const opened = Promise.withResolvers<void>();
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "shop-"));
  // Hands the program out only when the page has been seen to wait for it.
  shop = createServer((_, answer) => {
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
  const list = join(folder, "registry.json");
  await writeFile(list, JSON.stringify({ version: "1", agents: [agent] }));
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
