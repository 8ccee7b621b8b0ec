/** The raw view: messages in both directions, and the server's events. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { startPrefixProxy } from "./harness/prefix-proxy.ts";
import { type Server, sendPrompt, startServer, startSession } from "./harness/server.ts";

let server: Server;
let browser: Browser;
let folder: string;
before(async () => {
  server = await startServer();
  browser = await openBrowser();
  folder = await mkdtemp(join(tmpdir(), "raw-"));
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const rows = "[...document.querySelectorAll('.raw-line')]";

test("both directions are shown with id, method, size and latency", async () => {
  const session = await startSession(server, "one");
  await sendPrompt(server, "one", session, "noise");
  await browser.open(`${server.base}/ui/#/i/one/raw`);
  await browser.until(`${rows}.some((row) => row.dataset.type === "sent" && row.innerText.includes("session/prompt"))`);
  const answer = await browser.evaluate<string>(
    `${rows}.find((row) => row.innerText.includes("result of initialize")).innerText`,
  );
  assert.match(answer, /from the agent/);
  assert.match(answer, /"other-\d+"/);
  assert.match(answer, /\d+ ms/);
  assert.match(answer, /\d+(\.\d)? k?B/);
  await browser.until(`${rows}.some((row) => row.dataset.type === "unparsed")`);
});

test("a request is shown in full, with a button that shows its response", async () => {
  await browser.evaluate(`${rows}.find((row) => row.innerText.includes("initialize")).click()`);
  await browser.until("document.querySelector('.raw-details pre').innerText.includes('\"protocolVersion\": 1')");
  await browser.click("Show response");
  await browser.until("document.querySelector('.raw-details pre').innerText.includes('agentCapabilities')");
  await browser.screenshot("raw-details");
  await browser.click("Close event");
});

test("events are filtered and searched", async () => {
  await browser.run("select", "select[aria-label=Direction]", "sent");
  await browser.until(`${rows}.length > 0 && ${rows}.every((row) => row.dataset.type === "sent")`);
  await browser.run("select", "select[aria-label=Direction]", "all");
  await browser.run("fill", "input[aria-label=Search]", "available_commands");
  await browser.until(`${rows}.length === 1`);
  await browser.clear("input[aria-label=Search]");
  await browser.until(`${rows}.length > 5`);
});

test("events are exported as JSONL", async () => {
  const file = join(folder, "out.jsonl");
  await browser.evaluate(
    "[...document.querySelectorAll('button')].find((b) => b.innerText.includes('Export')).id = 'export'",
  );
  await browser.run("download", "#export", file);
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  const types = new Set(lines.map((line) => (JSON.parse(line) as { type: string }).type));
  assert.ok(types.has("sent") && types.has("message") && types.has("unparsed"), [...types].join());
});

test("the conversation and the raw events are shown side by side", async () => {
  await browser.evaluate("location.hash = '#/i/one/chat'");
  await browser.click("Side by side");
  await browser.until("document.querySelector('.timeline') && document.querySelector('.raw-line')");
  await browser.screenshot("side-by-side");
});

test("the exit of the process is an event", async () => {
  const session = await startSession(server, "ending");
  await sendPrompt(server, "ending", session, "exit 5");
  await browser.evaluate("location.hash = '#/i/ending/raw'");
  await browser.until(`${rows}.some((row) => row.dataset.type === "exit" && row.innerText.includes("exit 5"))`);
  await browser.screenshot("raw-exit");
});

test("a failed request is an event, and a notice in the conversation", async () => {
  await browser.open(`${server.base}/ui/`);
  await browser.click("Start Mock agent");
  await browser.send("crash 7");
  await browser.untilShown("session/prompt failed");
  await browser.evaluate("location.hash = location.hash.replace('/chat', '/raw')");
  await browser.until(`${rows}.some((row) => row.dataset.type === "failed")`);
  await browser.evaluate(`${rows}.find((row) => row.dataset.type === "failed").click()`);
  await browser.click("Show request");
  await browser.until("document.querySelector('.raw-details pre').innerText.includes('crash 7')");
});

test("lost events and a lost connection are reported", async () => {
  const forgetful = await startServer({ flags: ["--journal", "off", "--replay-events", "100"] });
  const gateway = await startPrefixProxy(forgetful.base, "/cut");
  try {
    const session = await startSession(forgetful, "lossy");
    await sendPrompt(forgetful, "lossy", session, "echo before");
    await browser.open(`${gateway.base}/ui/#/i/lossy/chat`);
    await browser.untilShown("before");
    gateway.cut();
    await browser.untilShown("is lost. Reconnecting");
    await browser.screenshot("cut");
    await sendPrompt(forgetful, "lossy", session, "stream 500");
    await sendPrompt(forgetful, "lossy", session, "echo afterwards");
    gateway.resume();
    await browser.untilShown("Some events are missing");
    await browser.untilShown("afterwards");
    await browser.until("!document.querySelector('.banner')");
    await browser.evaluate("location.hash = '#/i/lossy/raw'");
    await browser.until("document.querySelector('.raw-line')");
    await browser.run("select", "select[aria-label=Direction]", "other");
    await browser.until(`${rows}.some((row) => row.dataset.type === "gap" && row.innerText.includes("are lost"))`);
    await browser.screenshot("raw-gap");
  } finally {
    await gateway.stop();
    await forgetful.stop();
  }
});
