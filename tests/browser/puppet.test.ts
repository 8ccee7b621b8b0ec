/** What the mock agent does not do: an agent with few abilities, and agent requests of all kinds. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { giveImage } from "./harness/give-image.ts";
import { type Server, startServer } from "./harness/server.ts";

let server: Server;
let browser: Browser;
before(async () => {
  const script = fileURLToPath(new URL("harness/puppet-agent.mjs", import.meta.url));
  server = await startServer({ flags: ["--agent", `puppet=${process.execPath} ${script}`] });
  browser = await openBrowser();
  await browser.open(`${server.base}/ui/`);
  await browser.click("Start puppet");
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const idle = "!document.querySelector('.working') && !document.querySelector('.agent-requests')";
const lastAnswer = "[...document.querySelectorAll('.bubble.agent')].at(-1)?.innerText";

test("a pasted image reaches an agent that does not accept images as a link to a file", async () => {
  await browser.until("document.querySelector('textarea[aria-label=Message]')");
  await giveImage(browser, "paste", "pasted.png");
  await browser.until("document.querySelector('.attached li')?.title.endsWith('/pasted.png')");
  await browser.send("look");
  await browser.until(`${lastAnswer} === "text, resource_link"`);
  await browser.until(idle);
  assert.equal(await browser.evaluate("document.querySelectorAll('.bubble.user img').length"), 0);
});
