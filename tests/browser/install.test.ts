/** Tests installing an agent from the page: its state, its progress, and its start. */

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
let downloads: HttpServer;
let served = 0;
const opened = Promise.withResolvers<void>();
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "downloads-"));
  // Serves the agent's binary only after the test has seen that the page waits for the download.
  downloads = createServer((_, answer) => {
    served += 1;
    opened.promise.then(() => createReadStream(join(dirname(BINARY), "mock-agent")).pipe(answer));
  });
  await new Promise<void>((resolve) => downloads.listen(0, "127.0.0.1", resolve));
  const archive = `http://127.0.0.1:${(downloads.address() as AddressInfo).port}/tiny`;
  const binary = Object.fromEntries(
    ["linux-x86_64", "linux-aarch64", "darwin-x86_64", "darwin-aarch64"].map((platform) => [
      platform,
      { archive, cmd: "./tiny" },
    ]),
  );
  const agent = { id: "tiny", name: "Tiny agent", version: "1.0.0", description: "", distribution: { binary } };
  const broken = { ...agent, id: "nowhere", name: "Nowhere agent", distribution: { binary: unreachable(binary) } };
  const list = join(folder, "registry.json");
  await writeFile(list, JSON.stringify({ version: "1", agents: [agent, broken] }));
  server = await startServer({ registry: pathToFileURL(list).href });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
  downloads?.closeAllConnections();
  downloads?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Makes the entry of an agent whose download fails, because nothing listens on that port. */
function unreachable(binary: Readonly<Record<string, object>>): object {
  const archive = "http://127.0.0.1:9/nowhere";
  return Object.fromEntries(Object.entries(binary).map(([platform, program]) => [platform, { ...program, archive }]));
}

test("an agent is installed with its progress shown, then started", async () => {
  await browser.open(`${server.base}/ui/`);
  await browser.click("Install Tiny agent");
  await browser.until("document.querySelector('progress')");
  await browser.screenshot("installing");
  opened.resolve();
  await browser.click("Start Tiny agent");
  await browser.send("echo installed and alive");
  await browser.untilShown("installed and alive");
});

test("the agents view shows the agents' state, searches by name, and reports a failed install", async () => {
  await browser.evaluate("location.hash = '#/agents'");
  const row = (name: string): string =>
    `[...document.querySelectorAll(".agent-row")].find((row) => row.innerText.includes("${name}"))`;
  await browser.until(`${row("Tiny agent")}?.innerText.includes("1.0.0")`);
  assert.match(await browser.evaluate(`${row("Tiny agent")}.innerText`), /from registry · running/);
  assert.equal(await browser.evaluate(`${row("Tiny agent")}.querySelector(".chip").innerText`), "installed");
  assert.equal(await browser.evaluate(`${row("Mock agent")}.querySelector(".install button")`), null);
  await browser.run("fill", "input[aria-label='Search agents']", "nowhere");
  await browser.until("document.querySelectorAll('.agent-row').length === 1");
  assert.equal(await browser.evaluate(`${row("Nowhere agent")}.querySelector(".chip").innerText`), "not installed");
  await browser.click("Install Nowhere agent");
  await browser.until(`${row("Nowhere agent")}.querySelector(".alert")`);
  await browser.screenshot("install-failed");
  await browser.run("fill", "input[aria-label='Search agents']", "no such agent");
  await browser.untilShown("No matching agent.");
});

test("missing credentials name the variable to set", async () => {
  await browser.run("fill", "input[aria-label='Search agents']", "amp");
  await browser.until("document.querySelectorAll('.agent-row').length === 1");
  await browser.evaluate("document.querySelector('.agent-row summary').click()");
  const shown = await browser.evaluate<string>("document.querySelector('.agent-row').innerText");
  assert.match(shown, /no credentials found\s+Set AMP_API_KEY in the server's environment/);
  assert.match(shown, /any one of: AMP_API_KEY, ~\/\.local\/share\/amp\/secrets\.json/);
  assert.match(shown, /Can\s+run commands/);
  await browser.screenshot("agent-details");
  // This agent is only in the registry, so the page does not know where it looks for credentials.
  await browser.run("fill", "input[aria-label='Search agents']", "nowhere");
  await browser.untilShown("Nowhere agent");
  assert.doesNotMatch(await browser.evaluate("document.querySelector('.agent-row').innerText"), /credentials/);
});

test("an ability that the server does not report is not known yet", async () => {
  const list = (await (await fetch(`${server.base}/v1/agents`)).json()) as { agents: { id: string }[] };
  const amp = list.agents.find(({ id }) => id === "amp");
  const body = { agents: [{ ...amp, capabilities: { permissions: true, planMode: false, images: null } }] };
  await browser.run("network", "route", "**/v1/agents", "--body", JSON.stringify(body));
  await browser.run("fill", "input[aria-label='Search agents']", "amp");
  await browser.click("Refresh");
  await browser.until("document.querySelector('.agent-row strong')?.innerText === 'Amp'");
  await browser.evaluate("document.querySelector('.agent-row summary').click()");
  await browser.untilShown("Not known yet");
  const shown = await browser.evaluate<string>("document.querySelector('.agent-row dl').innerText");
  assert.match(shown, /^Can\s+ask for permission\s+Cannot\s+plan before it acts\s+Not known yet\s+.*read images/s);
  await browser.run("network", "unroute");
  await browser.click("Refresh");
});

test("an installed agent can be reinstalled", async () => {
  await browser.run("fill", "input[aria-label='Search agents']", "tiny");
  await browser.until("document.querySelectorAll('.agent-row').length === 1");
  await browser.evaluate("document.querySelector('.agent-row summary').click()");
  const before = served;
  await browser.click("Reinstall");
  await browser.until("!document.querySelector('.agent-row details button').disabled");
  assert.ok(served > before, "nothing was fetched");
});
