/** Looking on at what other clients do, without disturbing it; and coming back after a reload. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answering } from "./harness/answering.ts";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { otherClient, otherPrompt, type Server, startServer } from "./harness/server.ts";

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
/** What was sent to an agent, by anybody, as the page has seen it. */
const sentMethods = (serverId: string): Promise<readonly string[]> =>
  journalMethods(`${server.base}/v1/acp/${serverId}`);

async function journalMethods(url: string): Promise<readonly string[]> {
  const cut = new AbortController();
  const response = await fetch(`${url}?view=journal`, {
    headers: { Accept: "text/event-stream" },
    signal: cut.signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const timer = setTimeout(() => cut.abort(), 500);
  try {
    for (;;) {
      const part = await reader?.read();
      if (!part || part.done) break;
      text += part.value;
    }
  } catch {
    // Cut on purpose: a journal has no end.
  }
  clearTimeout(timer);
  return [...text.matchAll(/event: sent\n(?:.*\n)*?data: (.*)/g)].map(([, data]) => {
    const { method } = JSON.parse(data ?? "{}") as { method?: string };
    return method ?? "(answer)";
  });
}

test("an instance that another client started is there, with what was said before", async () => {
  const session = await otherClient(server, "theirs");
  await otherPrompt(server, "theirs", session, "echo before the page was opened");
  await attach("theirs");
  await browser.untilShown("before the page was opened");
  const prompting = otherPrompt(server, "theirs", session, "echo while the page is open");
  await browser.untilShown("while the page is open");
  await prompting;
  await browser.picture("attached");
});

test("watching sends nothing to the agent", async () => {
  assert.deepEqual(await sentMethods("theirs"), ["initialize", "session/new", "session/prompt", "session/prompt"]);
});

test("instances that come and go are told", async () => {
  await otherClient(server, "passing");
  await browser.until("document.querySelector('#sidebar').innerText.includes('passing')");
  await fetch(`${server.base}/v1/acp/passing`, { method: "DELETE" });
  await browser.until("document.querySelector('[aria-label=\"Forget passing\"]')");
  await browser.press("Forget passing");
  await browser.until("!document.querySelector('#sidebar').innerText.includes('passing')");
});

test("a question that came before the page is still there, and can be answered", async () => {
  const session = await otherClient(server, "asking");
  const answered = otherPrompt(server, "asking", session, "question");
  const deadline = Date.now() + 10_000;
  while ((await server.instances()).every(({ awaiting }) => awaiting.length === 0)) {
    assert.ok(Date.now() < deadline, "the agent did not ask");
  }
  await attach("asking");
  await browser.run("reload");
  await browser.untilShown("Which option?");
  await browser.press("Option A");
  await answered;
  await browser.untilShown("Which option? option-a");
});

test("a question that another client answers goes away", async () => {
  const session = await otherClient(server, "shared");
  const answered = otherPrompt(server, "shared", session, "permission");
  await browser.until("document.querySelector('.agent-request')");
  const open = (await server.instances()).find(({ serverId }) => serverId === "shared")?.awaiting[0];
  const result = { outcome: { outcome: "selected", optionId: "allow-once" } };
  await server.tell("shared", { id: open?.id, result });
  await browser.until("!document.querySelector('.agent-request')");
  await answered;
});

test("many questions at once are all there, and each answer goes to its own", async () => {
  const session = await otherClient(server, "many");
  const answered = otherPrompt(server, "many", session, "permissions 3");
  await browser.until("document.querySelectorAll('.agent-request').length === 3");
  await browser.picture("many-questions");
  for (const left of [2, 1, 0]) {
    await browser.run("press", "Alt+1");
    await browser.until(`document.querySelectorAll('.agent-request').length === ${left}`);
  }
  await answered;
});

test("a reload in the middle of a turn loses nothing", async () => {
  const session = await otherClient(server, "long");
  await attach("long");
  const done = otherPrompt(server, "long", session, "slow 4");
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

test("a crash in the middle of a turn is told, with what the agent printed last", async () => {
  const session = await otherClient(server, "doomed");
  await attach("doomed");
  await otherPrompt(server, "doomed", session, "crash 7").catch(() => undefined);
  await browser.untilShown("code 7");
  await browser.until("document.querySelector('textarea[aria-label=Message]').disabled");
  await browser.picture("crashed");
  await browser.press("Start again");
  await browser.press("New session");
  await browser.say("echo back to life");
  await browser.untilShown("back to life");
});

test("what a program prints in a client's terminal is shown in its colours, and as text", async () => {
  const session = await otherClient(server, "printing", { terminal: true });
  const output = "\u001b[32mok\u001b[0m 10 %\r\u001b[32mok\u001b[0m 100 %\n\u001b[1;31mfailed\u001b[0m\n";
  const client = answering(server, "printing", {
    "terminal/create": () => ({ terminalId: "term-1" }),
    "terminal/output": () => ({ output, truncated: false, exitStatus: { exitCode: 2 } }),
    "terminal/wait_for_exit": () => ({ exitCode: 2 }),
    "terminal/release": () => ({}),
  });
  try {
    await attach("printing");
    await otherPrompt(server, "printing", session, "terminal make test");
    await browser.until("document.querySelector('details.tool')");
    await browser.evaluate("document.querySelector('details.tool:not([open]) summary')?.click()");
    await browser.until("document.querySelector('.terminal')?.textContent.includes('failed')");
    const shown = await browser.evaluate<string>("document.querySelector('.terminal').textContent");
    assert.match(shown, /^\$ make test\nok 100 %\nfailed\n\[exit code 2\]$/);
    const red = "[...document.querySelectorAll('.terminal span')].find((run) => run.textContent === 'failed')";
    assert.equal(await browser.evaluate(`getComputedStyle(${red}).color`), "rgb(255, 143, 136)");
    assert.equal(await browser.evaluate(`getComputedStyle(${red}).fontWeight`), "700");
    await browser.picture("terminal");
    assert.deepEqual(await browser.complaints(), []);
    assert.deepEqual(await browser.seriousFindings(), []);
  } finally {
    await client.stop();
  }
});
