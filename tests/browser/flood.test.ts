/**
 * Tests with large amounts of data that the page renders only what is in view, both while data arrives and while the
 * user scrolls. Also prints the longest task on the page's main thread, but asserts nothing about it.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { type Server, sendPrompt, startServer, startSession } from "./harness/server.ts";
import { reportLongestTask } from "./harness/trace.ts";

/** How long the data may take to arrive on a busy machine. */
const ARRIVED_MS = 120_000;

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

test("a long paragraph streams in, and only rows in view exist", { timeout: 400_000 }, async () => {
  const session = await startSession(server, "flood");
  await browser.open(`${server.base}/ui/#/i/flood/chat`);
  await reportLongestTask(browser, "a paragraph of 480 kB streams in", async () => {
    await sendPrompt(server, "flood", session, "stream 20000 24");
    await browser.until("Number(document.querySelector('.instance-bar small').innerText) > 20000", ARRIVED_MS);
    await browser.until("document.querySelector('.timeline').innerText.includes('chunk 20000')");
  });
  assert.ok((await browser.evaluate<number>("document.querySelectorAll('.timeline-row').length")) < 40);
  await browser.screenshot("flood");
});

test("a long conversation scrolls, and only rows in view exist", async () => {
  await reportLongestTask(browser, "a conversation of 480 kB scrolls", async () => {
    const scrolled = await browser.evaluate<Scrolled>(scrolling(".timeline", "data-index"));
    assert.ok(scrolled.frames > 100 && scrolled.seen > 50 && scrolled.most < 40, JSON.stringify(scrolled));
  });
});

test("20,000 events scroll, and only rows in view exist", { timeout: 120_000 }, async () => {
  await browser.evaluate("location.hash = location.hash.replace('/chat', '/raw')");
  await browser.until("document.querySelector('.raw-line')");
  await reportLongestTask(browser, "20,000 events scroll", async () => {
    const scrolled = await browser.evaluate<Scrolled>(scrolling(".raw-lines", "aria-posinset"));
    assert.ok(scrolled.frames > 100 && scrolled.seen > 50 && scrolled.most < 100, JSON.stringify(scrolled));
  });
  await browser.screenshot("raw-20000");
});

interface Scrolled {
  readonly frames: number;
  readonly seen: number;
  readonly most: number;
}

/**
 * Scrolls from the top to the bottom in 150 frames. Counts the distinct rows, and the most rows that existed at once.
 */
function scrolling(box: string, index: string): string {
  return `new Promise((resolve) => {
    const box = document.querySelector("${box}");
    const met = new Set();
    let [frames, most] = [0, 0];
    const step = () => {
      const rows = box.querySelectorAll("[${index}]");
      for (const row of rows) met.add(row.getAttribute("${index}"));
      most = Math.max(most, rows.length);
      frames += 1;
      box.scrollTop = (box.scrollHeight * frames) / 150;
      if (frames < 150) requestAnimationFrame(step);
      else resolve({ frames, seen: met.size, most });
    };
    box.scrollTop = 0;
    requestAnimationFrame(step);
  })`;
}
