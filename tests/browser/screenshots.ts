/** Makes the pictures of the inspector in docs/images. Run it with `make screenshots`, and look at the result. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { type Server, sendPrompt, startServer, startSession } from "./harness/server.ts";

const IMAGES = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const IDLE = "!document.querySelector('.working') && !document.querySelector('.agent-requests')";
const PROGRAM = `use std::io;

/// Greets everyone whose name is on a line of the input.
fn main() -> io::Result<()> {
    for name in io::stdin().lines() {
        println!("Hello, {}!", name?.trim());
    }
    Ok(())
}
`;

async function save(browser: Browser, name: string): Promise<void> {
  await browser.run("screenshot", join(IMAGES, `inspector-${name}.png`));
  console.log(`docs/images/inspector-${name}.png`);
}

/** A permission request that waits above a conversation. */
async function permission(browser: Browser, server: Server, session: string): Promise<void> {
  await sendPrompt(server, "greeter", session, "title Greet the whole world");
  await sendPrompt(server, "greeter", session, "diff");
  // The agent's answer arrives when the request below is answered.
  const turn = sendPrompt(server, "greeter", session, "permission");
  await browser.open(`${server.base}/ui/#/i/greeter/chat`);
  await browser.until("document.querySelector('.agent-request') && document.querySelector('.diff')");
  await save(browser, "permission");
  await browser.click("Allow once");
  await turn;
  await browser.until(IDLE);
}

/** The same conversation beside its raw events. */
async function sideBySide(browser: Browser, server: Server, session: string): Promise<void> {
  await sendPrompt(server, "greeter", session, "tool");
  await browser.until(IDLE);
  await browser.click("Side by side");
  await browser.until("document.querySelector('.raw-line')");
  await save(browser, "side-by-side");
}

/** A file in the editor. */
async function files(browser: Browser, server: Server): Promise<void> {
  await mkdir(join(server.workspace, "src"));
  await writeFile(join(server.workspace, "README.md"), "# Greeter\n\nGreets everyone.\n");
  await writeFile(join(server.workspace, "Cargo.toml"), '[package]\nname = "greeter"\nversion = "0.1.0"\n');
  await writeFile(join(server.workspace, "src/main.rs"), PROGRAM);
  await browser.open(`${server.base}/ui/#/files`);
  for (const name of ["src", "main.rs"]) await browser.click(name);
  const isHighlighted =
    "document.querySelector('.editor')?.shadowRoot?.querySelectorAll('.cm-line span[class]').length > 3";
  await browser.until(isHighlighted);
  await save(browser, "files");
}

const server = await startServer();
const browser = await openBrowser();
try {
  await browser.run("set", "viewport", "1280", "720");
  await browser.run("set", "media", "light");
  const session = await startSession(server, "greeter");
  await permission(browser, server, session);
  await sideBySide(browser, server, session);
  await files(browser, server);
} finally {
  await browser.close();
  await server.stop();
}
