/** Watching other clients without disturbing them, and recovering after a reload. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { watchAcp } from "../../packages/acp-http-client/dist/index.js";
import { until } from "../../packages/testing/until.ts";
import { answerRequests } from "./harness/answer-requests.ts";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { type Server, sendPrompt, startServer, startSession } from "./harness/server.ts";

let server: Server;
let browser: Browser;
before(async () => {
  server = await startServer();
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const attach = (serverId: string): Promise<void> => browser.open(`${server.base}/ui/#/i/${serverId}/chat`);
/** Returns the methods of all messages that any client has sent to an agent, up to the instance's newest event. */
async function sentMethods(serverId: string): Promise<readonly string[]> {
  const newest = (await server.instances()).find((instance) => instance.serverId === serverId)?.lastEventId;
  const methods: string[] = [];
  for await (const { type, event, data } of watchAcp(`${server.base}/v1/acp/${serverId}`, { view: "journal" })) {
    if (type === "sent") methods.push("method" in data ? data.method : "(response)");
    if (event === newest) break;
  }
  return methods;
}

test("an instance of another client is shown with its history", async () => {
  const session = await startSession(server, "theirs");
  await sendPrompt(server, "theirs", session, "echo before the page was opened");
  await attach("theirs");
  await browser.untilShown("before the page was opened");
  const prompting = sendPrompt(server, "theirs", session, "echo while the page is open");
  await browser.untilShown("while the page is open");
  await prompting;
  await browser.screenshot("attached");
});

test("watching sends nothing to the agent", async () => {
  assert.deepEqual(await sentMethods("theirs"), ["initialize", "session/new", "session/prompt", "session/prompt"]);
});

test("instances appear and disappear", async () => {
  await startSession(server, "passing");
  await browser.until("document.querySelector('#sidebar').innerText.includes('passing')");
  await fetch(`${server.base}/v1/acp/passing`, { method: "DELETE" });
  await browser.until("document.querySelector('[aria-label=\"Forget passing\"]')");
  await browser.click("Forget passing");
  await browser.until("!document.querySelector('#sidebar').innerText.includes('passing')");
});

test("a question that was asked before the page was opened is shown, and can be answered", async () => {
  const session = await startSession(server, "asking");
  const answered = sendPrompt(server, "asking", session, "question");
  await until("the agent request", async () => (await server.instances()).some(({ awaiting }) => awaiting.length > 0));
  await attach("asking");
  await browser.run("reload");
  await browser.untilShown("Which option?");
  await browser.click("Option A");
  await answered;
  await browser.untilShown("Which option? option-a");
});

test("a question that another client answers disappears", async () => {
  const session = await startSession(server, "shared");
  const answered = sendPrompt(server, "shared", session, "permission");
  await browser.until("document.querySelector('.agent-request')");
  const open = (await server.instances()).find(({ serverId }) => serverId === "shared")?.awaiting[0];
  const result = { outcome: { outcome: "selected", optionId: "allow-once" } };
  await server.send("shared", { id: open?.id, result });
  await browser.until("!document.querySelector('.agent-request')");
  await answered;
});

test("many open requests are shown, and each answer goes to its request", async () => {
  const session = await startSession(server, "many");
  const answered = sendPrompt(server, "many", session, "permissions 3");
  await browser.until("document.querySelectorAll('.agent-request').length === 3");
  await browser.screenshot("many-questions");
  for (const left of [2, 1, 0]) {
    await browser.run("press", "Alt+1");
    await browser.until(`document.querySelectorAll('.agent-request').length === ${left}`);
  }
  await answered;
});

test("a reload during a turn loses nothing", async () => {
  const session = await startSession(server, "long");
  await attach("long");
  const done = sendPrompt(server, "long", session, "slow 4");
  await browser.until("document.querySelector('.working') && document.querySelector('.bubble.agent')");
  await browser.run("reload");
  await browser.until("document.querySelector('.working') && document.querySelector('.bubble.user')");
  await done;
  await browser.until("!document.querySelector('.working')");
  const seen = await browser.evaluate<string>("document.querySelector('.bubble.agent').innerText");
  await browser.run("reload");
  await browser.until("document.querySelector('.bubble.agent')");
  await browser.until(`document.querySelector(".bubble.agent").innerText === ${JSON.stringify(seen)}`);
  assert.ok(seen.length > 100, seen);
});

test("a crash during a turn is reported with the agent's stderr", async () => {
  const session = await startSession(server, "doomed");
  await attach("doomed");
  await sendPrompt(server, "doomed", session, "crash 7").catch(() => undefined);
  await browser.untilShown("code 7");
  await browser.until("document.querySelector('textarea[aria-label=Message]').disabled");
  await browser.screenshot("crashed");
  await browser.click("Start again");
  await browser.untilShown("so a new one was started");
  await browser.send("echo back to life");
  await browser.untilShown("back to life");
});

test("a restart of the server during a turn is reported, and the agent can be started again", async () => {
  const session = await startSession(server, "restarted");
  await attach("restarted");
  const prompted = sendPrompt(server, "restarted", session, "forever").catch(() => undefined);
  await browser.until("document.querySelector('.working')");
  await server.restart();
  await prompted;
  await browser.until("document.querySelector('.ended')");
  const seen = await browser.evaluate<string>("document.querySelector('.instance').innerText");
  assert.match(seen, /The agent exited: the server was restarted\./);
  assert.match(seen, /failed: the server died/);
  assert.doesNotMatch(seen, /Working/);
  await browser.screenshot("restarted");
  await browser.click("Start again");
  await browser.send("echo and again");
  await browser.untilShown("and again");
  assert.match(await browser.evaluate("document.querySelector('.timeline').innerText"), /^forever\n/);
});

test("the output of a client's terminal is shown with its colours, as text", async () => {
  const session = await startSession(server, "printing", { terminal: true });
  const output = "\u001b[32mok\u001b[0m 10 %\r\u001b[32mok\u001b[0m 100 %\n\u001b[1;31mfailed\u001b[0m\n";
  const client = answerRequests(server, "printing", {
    "terminal/create": () => ({ terminalId: "term-1" }),
    "terminal/output": () => ({ output, truncated: false, exitStatus: { exitCode: 2 } }),
    "terminal/wait_for_exit": () => ({ exitCode: 2 }),
    "terminal/release": () => ({}),
  });
  try {
    await attach("printing");
    await sendPrompt(server, "printing", session, "terminal make test");
    await browser.until("document.querySelector('details.tool')");
    await browser.evaluate("document.querySelector('details.tool:not([open]) summary')?.click()");
    await browser.until("document.querySelector('.terminal')?.textContent.includes('failed')");
    const shown = await browser.evaluate<string>("document.querySelector('.terminal').textContent");
    assert.match(shown, /^\$ make test\nok 100 %\nfailed\n\[exit code 2\]$/);
    const red = "[...document.querySelectorAll('.terminal span')].find((run) => run.textContent === 'failed')";
    assert.equal(await browser.evaluate(`getComputedStyle(${red}).color`), "rgb(255, 143, 136)");
    assert.equal(await browser.evaluate(`getComputedStyle(${red}).fontWeight`), "700");
    await browser.screenshot("terminal");
    assert.deepEqual(await browser.pageErrors(), []);
    assert.deepEqual(await browser.accessibilityViolations(), []);
  } finally {
    await client.stop();
  }
});
