/** Pastes and drops images into the message input, which agent-browser cannot do. */

import type { Browser } from "./browser.ts";

/** A PNG of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Sends the message input the same event as a browser does when the user pastes or drops an image. */
export async function giveImage(browser: Browser, how: "paste" | "drop", name: string): Promise<void> {
  await browser.evaluate(`{
    const bytes = Uint8Array.from(atob("${PIXEL}"), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "${name}", { type: "image/png" }));
    const options = { bubbles: true, cancelable: true };
    const event = "${how}" === "paste"
      ? new ClipboardEvent("paste", { ...options, clipboardData: transfer })
      : new DragEvent("drop", { ...options, dataTransfer: transfer });
    document.querySelector("textarea[aria-label=Message]").dispatchEvent(event);
  }`);
}
