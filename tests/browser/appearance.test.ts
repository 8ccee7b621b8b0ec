/**
 * Tests the appearance of every view: no serious accessibility violations, and no horizontal overflow on a narrow
 * screen. Saves a picture of each view.
 */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { type Server, sendPrompt, startServer, startSession } from "./harness/server.ts";

let server: Server;
let browser: Browser;
let asking: Promise<unknown>;
before(async () => {
  server = await startServer();
  browser = await openBrowser();
  const session = await startSession(server, "shown");
  for (const text of ["think", "tool", "diff", "plan", "markdown"]) await sendPrompt(server, "shown", session, text);
  await writeFile(join(server.workspace, "readme.md"), "# Words\n");
  asking = sendPrompt(server, "shown", session, "permission").catch(() => undefined);
  await browser.open(`${server.base}/ui/`);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await asking;
});

const VIEWS = {
  start: ["#/", ".cards .card"],
  chat: ["#/i/shown/chat", ".timeline .markdown h1"],
  raw: ["#/i/shown/raw", ".raw-line"],
  files: ["#/files", ".tree-row"],
  config: ["#/config", "#skills-title"],
  agents: ["#/agents", ".agent-row"],
  server: ["#/server", ".facts dd"],
} as const;

for (const scheme of ["light", "dark"] as const) {
  for (const [name, [place, sign]] of Object.entries(VIEWS)) {
    test(`${name} in ${scheme} colours has no serious accessibility violation`, async () => {
      await browser.run("set", "viewport", "1280", "800");
      await browser.run("set", "media", scheme);
      await browser.evaluate(`location.hash = ${JSON.stringify(place)}`);
      await browser.until(`document.querySelector(${JSON.stringify(sign)})`);
      await browser.until("document.querySelector('.agent-request')");
      await browser.screenshot(`view-${name}-${scheme}`);
      assert.deepEqual(await browser.accessibilityViolations(), []);
    });
  }
}

for (const [name, [place, sign]] of Object.entries(VIEWS)) {
  test(`${name} fits a screen that is 400 px wide`, async () => {
    await browser.run("set", "media", "light");
    await browser.run("set", "viewport", "400", "800");
    await browser.evaluate(`location.hash = ${JSON.stringify(place)}`);
    await browser.until(`document.querySelector(${JSON.stringify(sign)})`);
    await browser.screenshot(`narrow-${name}`);
    assert.equal(await browser.evaluate("document.documentElement.scrollWidth"), 400);
  });
}

test("on a narrow screen, a button opens the sidebar, and it closes after a selection", async () => {
  await browser.run("set", "viewport", "400", "800");
  await browser.evaluate("location.hash = '#/server'");
  await browser.click("Instances");
  await browser.until("document.querySelector('#sidebar').checkVisibility()");
  await browser.screenshot("narrow-instances");
  await browser.run("click", ".instance-link");
  await browser.until("!document.querySelector('#sidebar').checkVisibility()");
});

test("on a phone, the whole placeholder of the message input is visible, even during a turn", async () => {
  const session = await startSession(server, "small");
  const running = sendPrompt(server, "small", session, "forever").catch(() => undefined);
  await browser.run("set", "viewport", "360", "740");
  await browser.evaluate("location.hash = '#/i/small/chat'");
  await browser.until("document.querySelector('.composer .danger')");
  await browser.screenshot("narrow-composer");
  const { needed, room } = await browser.evaluate<{ needed: number; room: number }>(`(() => {
    const field = document.querySelector("textarea[aria-label=Message]");
    const style = getComputedStyle(field);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const padding = Number.parseFloat(style.paddingLeft) + Number.parseFloat(style.paddingRight);
    return { needed: pen.measureText(field.placeholder).width, room: field.clientWidth - padding };
  })()`);
  assert.ok(needed > 20 && needed <= room, `${needed} px in ${room} px`);
  const right = await browser.evaluate<number>(
    "document.querySelector('.composer .primary').getBoundingClientRect().right",
  );
  assert.ok(right <= 360, `the button to send ends at ${right} px`);
  await server.send("small", { method: "session/cancel", params: { sessionId: session } });
  await running;
});

test("all controls can be reached with the Tab key", async () => {
  await browser.run("set", "viewport", "1280", "800");
  await browser.evaluate("location.hash = '#/i/shown/chat'");
  await browser.until("document.querySelector('.agent-request')");
  await browser.evaluate("document.activeElement?.blur()");
  const reached = new Set<string>();
  for (let step = 0; step < 40; step += 1) {
    await browser.run("press", "Tab");
    reached.add(await browser.evaluate("document.activeElement.innerText || document.activeElement.ariaLabel || ''"));
  }
  const names = [...reached].join("\n");
  for (const wanted of ["Start an agent", "Allow once", "Raw", "New session", "Send", "Shut down"]) {
    assert.ok(names.includes(wanted), `${wanted} is not among:\n${names}`);
  }
});
