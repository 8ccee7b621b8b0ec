/** The conversation with an agent: messages, tool calls, agent requests, sessions. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { giveImage } from "./harness/give-image.ts";
import { type Server, startServer } from "./harness/server.ts";

let server: Server;
let browser: Browser;
before(async () => {
  server = await startServer();
  browser = await openBrowser();
  await browser.open(`${server.base}/ui/`);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const idle = "!document.querySelector('.working') && !document.querySelector('.agent-requests')";

test("an agent is started and its answer is rendered as it streams in", async () => {
  await browser.click("Start Mock agent");
  await browser.send("markdown");
  await browser.until("document.querySelector('.markdown table') && document.querySelector('.markdown h1')");
  assert.equal(await browser.evaluate("document.querySelector('.markdown h1').innerText"), "A heading");
  await browser.until("document.querySelector('.markdown .token.keyword')");
  await browser.until(idle);
  await browser.screenshot("conversation-markdown");
});

test("text appears while the turn is running", async () => {
  await browser.send("slow 3");
  await browser.until("document.querySelector('.working') && document.querySelectorAll('.bubble.agent').length > 1");
  const early = await browser.evaluate<number>("document.querySelector('.timeline').innerText.length");
  await browser.until(
    `document.querySelector('.working') && document.querySelector('.timeline').innerText.length > ${early}`,
  );
  await browser.until(idle);
});

test("thoughts are folded, tool calls show input and output, diffs and plans are rendered", async () => {
  await browser.send("think");
  await browser.until("document.querySelector('details.thought:not([open])')");
  await browser.until(idle);
  await browser.send("tool");
  await browser.until("document.querySelector('details.tool[data-status=completed]')");
  await browser.until(idle);
  await browser.send("diff");
  await browser.until(`document.querySelector('.diff [data-sign="+"]')?.innerText.includes("whole world")`);
  await browser.until(idle);
  await browser.send("plan");
  await browser.until(`document.querySelectorAll(".plan li[data-status=completed]").length === 3`);
  await browser.until(idle);
  await browser.send("image");
  await browser.until("document.querySelector('img.shown')?.naturalWidth > 0");
  await browser.until(idle);
  await browser.screenshot("conversation-tools");
});

test("turns and tool calls show when they began and how long they took", async () => {
  const times = await browser.evaluate<string[]>(
    "[...document.querySelectorAll('.bubble.user + .times, .tool .times')].map(({ innerText }) => innerText)",
  );
  assert.ok(times.length > 1, times.join("\n"));
  for (const text of times) assert.match(text, /^\d\d:\d\d:\d\d · \d+(\.\d)? m?s$/);
  await browser.send("slow 2");
  await browser.until("document.querySelector('.working')");
  const last = "[...document.querySelectorAll('.bubble.user + .times')].at(-1).innerText";
  assert.match(await browser.evaluate(last), /^\d\d:\d\d:\d\d$/);
  await browser.until(idle);
  assert.match(await browser.evaluate(last), /^\d\d:\d\d:\d\d · \d+(\.\d)? s$/);
});

test("audio, embedded files, links and usage are shown", async () => {
  await browser.send("audio");
  await browser.until("document.querySelector('.bubble audio')?.src.startsWith('data:audio/')");
  await browser.until(idle);
  await browser.send("resource");
  await browser.until("document.querySelectorAll('.bubble .file-chip').length > 1");
  await browser.run("click", ".bubble .resource summary");
  await browser.until("document.querySelector('.resource[open] pre')");
  await browser.until(idle);
  const before = await browser.evaluate<string>("document.querySelector('.usage').innerText");
  assert.match(before, /^[\d,]+ of 200,000 tokens/);
  await browser.send("usage");
  await browser.until("/USD|EUR/.test(document.querySelector('.usage').innerText)");
  await browser.until(idle);
});

test("the agent's title is the session's name", async () => {
  await browser.send("title A name of its own");
  await browser.until("document.querySelector('#sidebar').innerText.includes('A name of its own')");
  await browser.until(idle);
});

test("a permission is allowed with the mouse", async () => {
  await browser.send("permission");
  await browser.until("document.querySelector('.agent-request')");
  await browser.screenshot("permission");
  await browser.click("Allow once");
  await browser.until("!document.querySelector('.agent-request')");
  await browser.untilShown("Edit file 1: Allow once");
  await browser.until(idle);
});

test("a permission is rejected with the keyboard, from another tab", async () => {
  await browser.send("permission");
  await browser.until("document.querySelector('.agent-request')");
  await browser.evaluate("location.hash = '#/files'");
  await browser.until("document.querySelector('.files') && document.querySelector('.agent-request')");
  await browser.run("press", "Alt+3");
  await browser.until("!document.querySelector('.agent-request')");
  await browser.run("back");
  await browser.untilShown("Edit file 1: Reject once");
  await browser.until(idle);
});

test("a question is answered, and another one is rejected", async () => {
  await browser.send("question");
  await browser.untilShown("Which option?");
  await browser.screenshot("question");
  await browser.click("Option B");
  await browser.untilShown("Which option? option-b");
  await browser.until(idle);
  await browser.send("question");
  await browser.click("Do not answer");
  await browser.untilShown("Which option? Not answered.");
  await browser.until(idle);
});

test("a form is validated and submitted", async () => {
  await browser.send("elicit");
  await browser.untilShown("Please fill in the form.");
  await browser.run("find", "label", "Name *", "fill", "Ada");
  await browser.click("Send answers");
  assert.equal(await browser.evaluate("document.querySelectorAll('.agent-request').length"), 1);
  await browser.run("find", "label", "Count *", "fill", "3");
  await browser.click("green");
  await browser.screenshot("form");
  await browser.click("Send answers");
  await browser.untilShown("Please fill in the form. Submitted.");
  await browser.until(idle);
  assert.match(
    await browser.evaluate("document.querySelector('.timeline').innerText"),
    /"colour":"green","count":3,"name":"Ada"/,
  );
});

test("a form is filled in, sent and declined with the keyboard", async () => {
  await browser.send("elicit");
  await browser.untilShown("Please fill in the form.");
  await browser.run("press", "Alt+a");
  await browser.until("document.activeElement.innerText.trim() === 'red'");
  await browser.run("press", "Enter");
  for (let step = 0; step < 3; step += 1) await browser.run("press", "Tab");
  await browser.until("document.activeElement.closest('label')?.innerText.startsWith('Count')");
  await browser.run("keyboard", "inserttext", "5");
  await browser.run("press", "Alt+1");
  // The required field is empty, so the browser moves the focus to it.
  await browser.until("document.activeElement.closest('label')?.innerText.startsWith('Name')");
  await browser.run("keyboard", "inserttext", "Grace");
  await browser.run("press", "Alt+1");
  await browser.until(
    `document.querySelector(".timeline").innerText.includes('{"colour":"red","count":5,"name":"Grace"')`,
  );
  await browser.until(idle);
  await browser.send("elicit");
  await browser.until("document.querySelector('.agent-request')");
  await browser.run("press", "Alt+2");
  await browser.untilShown("Please fill in the form. Declined.");
  await browser.until(idle);
});

test("the search finds text in the whole conversation, even where it is not in view", async () => {
  await browser.evaluate("document.activeElement.blur()");
  await browser.until("!document.querySelector('.timeline').innerText.includes('A heading')");
  await browser.run("press", "Control+f");
  await browser.until("document.activeElement.ariaLabel === 'Search the conversation'");
  await browser.run("keyboard", "inserttext", "a HEADING");
  await browser.until("document.querySelector('.search-bar [role=status]').innerText === '1 of 1'");
  await browser.until("document.querySelector('[data-found=true] .markdown h1')?.innerText === 'A heading'");
  await browser.until("[...CSS.highlights.get('found')].some((range) => range.toString() === 'A heading')");
  await browser.until(`(() => {
    const view = document.querySelector(".timeline").getBoundingClientRect();
    const { top, bottom } = document.querySelector("[data-found=true] h1").getBoundingClientRect();
    return top >= view.top && bottom <= view.bottom;
  })()`);
  await browser.screenshot("search");
  assert.deepEqual(await browser.accessibilityViolations(), []);
  await browser.clear(".search-bar input");
  await browser.run("keyboard", "inserttext", "edit file 1");
  const status = "document.querySelector('.search-bar [role=status]').innerText";
  await browser.until(`/^[2-9] of [2-9]$/.test(${status})`);
  const count = Number((await browser.evaluate<string>(status)).at(-1));
  await browser.until(`${status} === "${count} of ${count}"`);
  await browser.run("press", "Enter");
  await browser.until(`${status} === "${count - 1} of ${count}"`);
  await browser.run("press", "Shift+Enter");
  await browser.run("press", "Shift+Enter");
  await browser.until(`${status} === "1 of ${count}"`);
  await browser.clear(".search-bar input");
  await browser.run("keyboard", "inserttext", "that was enough");
  await browser.until(
    "document.querySelector('[data-found=true] details.thought[open]')?.innerText.includes('enough')",
  );
  await browser.run("press", "Escape");
  await browser.until("!document.querySelector('.search-bar') && !CSS.highlights.has('found')");
  await browser.click("Jump to the end");
});

test("a turn is cancelled", async () => {
  await browser.send("forever");
  await browser.until("document.querySelector('.working')");
  await browser.click("Cancel");
  await browser.untilShown("Cancelled.");
  await browser.until(idle);
});

test("mode and model are set, and survive a reload", async () => {
  await browser.run("select", "select[aria-label=Mode]", "code");
  await browser.run("select", "select[aria-label=Model]", "mock-large");
  const chosen =
    "['Mode', 'Model'].map((name) => document.querySelector('select[aria-label=' + name + ']').value).join()";
  await browser.until(`${chosen} === "code,mock-large"`);
  await browser.run("reload");
  await browser.until(`document.querySelector("select[aria-label=Mode]") && ${chosen} === "code,mock-large"`);
});

test("slash commands are offered", async () => {
  const field = "document.querySelector('textarea[aria-label=Message]')";
  await browser.run("fill", "textarea[aria-label=Message]", "/perm");
  await browser.until("document.querySelectorAll('.commands [role=option]').length === 2");
  await browser.screenshot("commands");
  await browser.run("press", "ArrowDown");
  await browser.until("document.querySelectorAll('.commands [role=option]')[1].ariaSelected === 'true'");
  await browser.run("press", "Escape");
  await browser.until("!document.querySelector('.commands')");
  await browser.run("fill", "textarea[aria-label=Message]", "/ech");
  await browser.run("press", "Tab");
  await browser.until(`${field}.value === "/echo " && document.activeElement === ${field}`);
  await browser.run("keyboard", "inserttext", "by command");
  await browser.run("press", "Enter");
  await browser.until(
    "[...document.querySelectorAll('.bubble.agent')].some((bubble) => bubble.innerText === 'by command')",
  );
  await browser.until(idle);
});

test("an attached file reaches the agent as a link to its path", async () => {
  const file = join(server.workspace, "note to attach.txt");
  await writeFile(file, "attached words");
  await browser.run("upload", ".composer input[type=file]", file);
  await browser.until("document.querySelector('.attached li')");
  await browser.send("meta");
  await browser.until(idle);
  const shown = await browser.evaluate<string>("document.querySelector('.timeline').innerText");
  assert.match(shown, /note to attach\.txt/);
  assert.match(shown, /\.sandbox-agent\/uploads\/[0-9a-f]+\/note%20to%20attach\.txt/);
});

test("a file is attached by dropping it", async () => {
  await browser.evaluate(`{
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["dropped words"], "dropped.txt", { type: "text/plain" }));
    const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
    document.querySelector(".composer").dispatchEvent(drop);
  }`);
  await browser.until("document.querySelector('.attached li')?.innerText.includes('dropped.txt')");
  await browser.send("meta");
  await browser.until("!document.querySelector('.attached li')");
  await browser.until(idle);
  assert.match(
    await browser.evaluate("document.querySelector('.timeline').innerText"),
    /uploads\/[0-9a-f]+\/dropped\.txt/,
  );
});

test("pasted and dropped images reach an agent that accepts them as images", async () => {
  await giveImage(browser, "paste", "pasted.png");
  await browser.until("document.querySelectorAll('.attached li').length === 1");
  await giveImage(browser, "drop", "dropped.png");
  await browser.until("document.querySelectorAll('.attached li img').length === 2");
  await browser.screenshot("images-attached");
  await browser.send("meta");
  await browser.until(
    "[...document.querySelectorAll('.bubble.user')].at(-1).querySelectorAll('img.shown').length === 2",
  );
  await browser.until(idle);
  const report = await browser.evaluate<string>("[...document.querySelectorAll('.bubble.agent')].at(-1).innerText");
  assert.equal(report.match(/"type": "image"/g)?.length, 2, report);
  assert.match(report, /"mimeType": "image\/png"/);
});

test("an attached file can be removed", async () => {
  const file = join(server.workspace, "not this.txt");
  await writeFile(file, "");
  await browser.run("upload", ".composer input[type=file]", file);
  await browser.until("document.querySelector('.attached li')");
  await browser.click("Remove not this.txt");
  await browser.until("!document.querySelector('.attached li')");
});

test("the agent's sessions are listed, and an earlier one is loaded", async () => {
  await browser.click("New session");
  await browser.until("document.querySelectorAll('select[aria-label=Session] option').length === 2");
  await browser.click("Earlier sessions");
  await browser.until("document.querySelectorAll('dialog .rows li').length === 2");
  await browser.screenshot("sessions");
  await browser.evaluate(`[...document.querySelectorAll("dialog li")]
    .find((row) => row.innerText.includes("mock-session-1")).querySelector("button").click()`);
  await browser.until(`!document.querySelector("dialog") && location.hash.endsWith("mock-session-1")`);
  await browser.until("document.querySelector('.timeline .bubble')");
  await browser.evaluate("document.querySelector('.timeline').scrollTop = 0");
  await browser.until("document.querySelector('.timeline .markdown table')");
  await browser.click("Jump to the end");
  await browser.until("!document.querySelector('.timeline .markdown table')");
});

test("an earlier session is resumed, and continues", async () => {
  await browser.run("select", "select[aria-label=Session]", "mock-session-2");
  await browser.until("location.hash.endsWith('mock-session-2')");
  await browser.click("Earlier sessions");
  await browser.until("document.querySelectorAll('dialog .rows li').length === 2");
  await browser.evaluate(`[...[...document.querySelectorAll("dialog li")]
    .find((row) => row.innerText.includes("mock-session-1")).querySelectorAll("button")]
    .find((button) => button.innerText === "Resume").click()`);
  await browser.until(`!document.querySelector("dialog") && location.hash.endsWith("mock-session-1")`);
  await browser.send("echo resumed");
  await browser.until("[...document.querySelectorAll('.bubble.agent')].at(-1).innerText === 'resumed'");
  await browser.until(idle);
});

test("the keyboard shortcuts are shown and dismissed", async () => {
  await browser.evaluate("document.activeElement.blur()");
  await browser.run("press", "?");
  await browser.until("document.querySelector('dialog[open]')?.innerText.includes('Alt+A')");
  await browser.screenshot("keyboard");
  await browser.run("press", "Escape");
  await browser.until("!document.querySelector('dialog')");
});

test("an instance is shut down", async () => {
  await browser.click("Shut down");
  await browser.click("Really shut down");
  await browser.until("document.querySelector('.instance-bar .chip').innerText === 'closed'");
  assert.deepEqual(await server.instances(), []);
});

test("there are no script errors and no violations of the content security policy", async () => {
  assert.deepEqual(await browser.pageErrors(), []);
});

test("an injected script does not run, and an image of another origin is not loaded", async () => {
  await browser.evaluate(`{
    const script = document.createElement("script");
    script.textContent = "globalThis.slipped = true";
    document.body.append(script);
    new Image().src = "http://127.0.0.1:9/picture.png";
  }`);
  await browser.until("globalThis.cspViolations.length === 2");
  assert.equal(await browser.evaluate("globalThis.slipped ?? 'nothing'"), "nothing");
  assert.match((await browser.pageErrors()).join(), /script-src-elem inline.*img-src http:\/\/127\.0\.0\.1:9/);
});
