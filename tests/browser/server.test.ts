/** The server: its token, path prefixes, configuration, health and limits. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { startPrefixProxy } from "./harness/prefix-proxy.ts";
import { type Server, startServer, startSession } from "./harness/server.ts";

let browser: Browser;
let folder: string;
let server: Server | undefined;
before(async () => {
  browser = await openBrowser();
  folder = await mkdtemp(join(tmpdir(), "bring-"));
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
});
after(async () => {
  await browser?.close();
  await rm(folder, { recursive: true, force: true });
});

test("a wrong token is reported, the right one connects, and neither appears in a URL", async () => {
  server = await startServer({ token: "right" });
  await browser.open(`${server.base}/ui/`);
  await browser.untilShown("This server needs a token.");
  await browser.screenshot("connect");
  await browser.run("fill", "input[name=token]", "wrong");
  await browser.click("Connect");
  await browser.untilShown("The server refused this token.");
  await browser.screenshot("wrong-token");
  await browser.run("fill", "input[name=token]", "right");
  await browser.click("Connect");
  await browser.until("document.querySelector('.connection-state')?.dataset.state === 'live'");
  await browser.click("Start Mock agent");
  await browser.send("echo inside");
  await browser.untilShown("inside");
  await browser.run("reload");
  await browser.untilShown("inside");
  const { requests } = (await browser.run("network", "requests")) as { requests: readonly { url: string }[] };
  assert.ok(requests.length > 5);
  assert.deepEqual(
    requests.filter(({ url }) => /right|wrong/.test(url)),
    [],
  );
});

test("a token in the fragment is used and removed from the address bar", async () => {
  server = await startServer({ token: "from-link" });
  await browser.open(`${server.base}/ui/#token=from-link`);
  await browser.until("document.querySelector('.connection-state')?.dataset.state === 'live'");
  assert.doesNotMatch(await browser.evaluate("location.href"), /from-link/);
  assert.doesNotMatch(await browser.evaluate("document.body.innerText"), /from-link/);
});

test("everything works behind a path prefix", async () => {
  server = await startServer();
  const gateway = await startPrefixProxy(server.base, "/some/where");
  try {
    await browser.open(`${gateway.base}/ui`);
    await browser.until("document.querySelector('.connection-state')?.dataset.state === 'live'");
    assert.equal(await browser.evaluate("location.pathname"), "/some/where/ui/");
    await browser.click("Start Mock agent");
    await browser.send("markdown");
    await browser.until("document.querySelector('.markdown h1')");
    await browser.screenshot("behind-a-prefix");
  } finally {
    await gateway.stop();
  }
});

test("another server can be inspected if it allows this page", async () => {
  server = await startServer();
  const other = await startServer({ token: "theirs", allowedOrigin: server.base });
  try {
    await startSession(other, "elsewhere");
    await browser.open(`${server.base}/ui/#server=${encodeURIComponent(other.base)}&token=theirs`);
    await browser.until("document.querySelector('#sidebar')?.innerText.includes('elsewhere')");
    await browser.click("Start Mock agent");
    await browser.send("echo across");
    await browser.untilShown("across");
    assert.deepEqual(await server.instances(), []);
  } finally {
    await other.stop();
  }
});

test("an unreachable server is reported, and another one can be connected", async () => {
  server = await startServer();
  await browser.open(`${server.base}/ui/#server=http://127.0.0.1:9`);
  await browser.untilShown("no answer from http://127.0.0.1:9/");
  await browser.clear("input[name=server]");
  await browser.click("Connect");
  await browser.until("document.querySelector('.connection-state')?.dataset.state === 'live'");
});

test("MCP servers and skills are stored, and an error names its field", async () => {
  server = await startServer();
  await browser.open(`${server.base}/ui/#/config`);
  await browser.click("Add MCP server");
  await browser.run("find", "label", "Name", "fill", "tools");
  await browser.click("Save");
  await browser.until("document.querySelector('.config-form .alert')?.innerText.includes('command')");
  await browser.run("find", "label", "Command", "fill", "npx");
  await browser.run("fill", ".config-form textarea", "-y\nsome-server");
  await browser.click("Save");
  await browser.untilShown("local: npx -y some-server");
  await browser.click("Add skills");
  await browser.run("find", "label", "Name", "fill", "ours");
  await browser.run("find", "label", "Source", "fill", "owner/repository");
  await browser.screenshot("config");
  await browser.click("Save");
  await browser.untilShown("github: owner/repository");
  await browser.run("reload");
  await browser.untilShown("local: npx -y some-server");
  await browser.evaluate("location.hash = '#/'");
  await browser.click("Start Mock agent");
  await browser.send("mcp");
  await browser.until("document.querySelector('.bubble.agent')?.innerText.includes('tools')");
});

test("a remote MCP server is edited and removed, and fields outside the form are preserved", async () => {
  server = await startServer();
  const entry = { type: "remote", url: "https://example.com/mcp", timeoutMs: 1234 };
  const url = `${server.base}/v1/config/mcp?directory=${encodeURIComponent(server.workspace)}&mcpName=far`;
  const headers = { "Content-Type": "application/json" };
  assert.equal((await fetch(url, { method: "PUT", headers, body: JSON.stringify(entry) })).status, 204);
  await browser.open(`${server.base}/ui/#/config`);
  await browser.untilShown("remote: https://example.com/mcp");
  await browser.click("Edit far");
  await browser.run("find", "label", "URL", "fill", "https://example.com/other");
  await browser.run("fill", ".config-form textarea", "X-Team=ours");
  await browser.screenshot("config-edit");
  await browser.click("Save");
  await browser.untilShown("remote: https://example.com/other");
  assert.deepEqual(await (await fetch(url)).json(), {
    ...entry,
    url: "https://example.com/other",
    headers: { "X-Team": "ours" },
  });
  await browser.click("Remove far");
  await browser.click("Really remove it");
  await browser.until("!document.body.innerText.includes('example.com')");
  assert.equal((await fetch(url)).status, 404);
});

test("the server view shows health and limits", async () => {
  server = await startServer({ flags: ["--max-instances", "7"] });
  await browser.open(`${server.base}/ui/#/server`);
  await browser.until("document.querySelector('#limits-title')");
  const shown = await browser.evaluate<string>("document.querySelector('main').innerText");
  assert.match(shown, /Status\s+ok/);
  assert.match(shown, /Max instances\s+7\n/);
  assert.match(shown, /Max message\s+32 MiB/);
});

test("a failed start shows the reason and links to the messages", async () => {
  const script = fileURLToPath(new URL("harness/broken-agent.mjs", import.meta.url));
  server = await startServer({ flags: ["--agent", `broken=${process.execPath} ${script}`] });
  await browser.open(`${server.base}/ui/`);
  await browser.click("Start broken");
  await browser.untilShown("Internal error: the model's key is missing");
  await browser.screenshot("start-failed");
  await browser.run("find", "text", "Show the messages", "click");
  await browser.until("document.querySelector('.raw-line')");
});
