/** Very much at once: the page stays usable while it arrives, and while one looks through it. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { otherClient, otherPrompt, type Server, startServer } from "./harness/server.ts";
import { assertSmooth } from "./harness/trace.ts";

/** How long the flood may take to arrive on a machine that has much else to do. */
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

test("a paragraph without end streams in with no frame over 100 ms", { timeout: 400_000 }, async () => {
  await assertSmooth(browser, "a paragraph of 480 kB streams in", async (attempt) => {
    const session = await otherClient(server, `flood-${attempt}`);
    await browser.open(`${server.base}/ui/#/i/flood-${attempt}/chat`);
    return async () => {
      await otherPrompt(server, `flood-${attempt}`, session, "stream 20000 24");
      await browser.until("Number(document.querySelector('.instance-bar small').innerText) > 20000", ARRIVED_MS);
      await browser.until("document.querySelector('.timeline').innerText.includes('chunk 20000')");
    };
  });
  await browser.picture("flood");
});

test("it is scrolled through with no frame over 100 ms, and only what is in view exists", async () => {
  await assertSmooth(browser, "a conversation of 480 kB scrolls", async () => async () => {
    const scrolled = await browser.evaluate<{ frames: number; seen: number; most: number }>(
      scrolling(".timeline", "data-index"),
    );
    assert.ok(scrolled.frames > 100 && scrolled.seen > 50 && scrolled.most < 40, JSON.stringify(scrolled));
  });
});

test("twenty thousand events scroll with no frame over 100 ms", { timeout: 120_000 }, async () => {
  await browser.evaluate("location.hash = location.hash.replace('/chat', '/raw')");
  await browser.until("document.querySelector('.raw-line')");
  await assertSmooth(browser, "20,000 events scroll", async () => async () => {
    const scrolled = await browser.evaluate<{ frames: number; seen: number }>(scrolling(".raw-lines", "aria-posinset"));
    assert.ok(scrolled.frames > 100 && scrolled.seen > 50, JSON.stringify(scrolled));
  });
  await browser.picture("raw-20000");
});

/** Scrolls from the top to the bottom in 150 frames, and counts the rows that were met, and were there at once. */
function scrolling(box: string, place: string): string {
  return `new Promise((resolve) => {
    const box = document.querySelector("${box}");
    const met = new Set();
    let [frames, most] = [0, 0];
    const step = () => {
      const rows = box.querySelectorAll("[${place}]");
      for (const row of rows) met.add(row.getAttribute("${place}"));
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
