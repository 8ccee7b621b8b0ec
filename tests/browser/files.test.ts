/** The sandbox's files: upload, read, edit, move, download and delete. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../../packages/testing/until.ts";
import { type Browser, openBrowser } from "./harness/browser.ts";
import { type Server, startServer } from "./harness/server.ts";

let browser: Browser;
let folder: string;
let server: Server;
before(async () => {
  server = await startServer();
  browser = await openBrowser();
  folder = await mkdtemp(join(tmpdir(), "bring-"));
  await browser.open(`${server.base}/ui/#/files`);
  await browser.until("document.querySelector('input[data-purpose=upload]')");
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const at = (...parts: string[]): string => join(server.workspace, ...parts);
const row = (name: string): string =>
  `[...document.querySelectorAll(".tree-row")].find((row) => row.innerText.includes("${name}"))`;
const EDITOR = "document.querySelector('.editor')?.shadowRoot";
const TEXT = `[...(${EDITOR}?.querySelectorAll(".cm-line") ?? [])].map((line) => line.textContent).join("\\n")`;
const untilText = (text: string): Promise<void> => browser.until(`${TEXT} === ${JSON.stringify(text)}`);

/** Opens a file by its name. */
async function open(name: string): Promise<void> {
  await browser.until(row(name));
  await browser.evaluate(`${row(name)}.click()`);
  await browser.until(`document.querySelector(".viewer")?.ariaLabel.endsWith("${name}")`);
}

/** Replaces the text in the editor, with the keyboard. */
async function write(text: string): Promise<void> {
  await browser.evaluate(`${EDITOR}.querySelector(".cm-content").focus()`);
  await browser.run("press", "Control+a");
  await browser.run("keyboard", "inserttext", text);
}

/** Waits until a file on disk has this content. */
async function untilWritten(path: string, text: string): Promise<void> {
  const isWritten = async () => (await readFile(path, "utf8").catch(() => undefined)) === text;
  await until(`${path} to contain ${JSON.stringify(text)}`, isWritten);
}

test("a file is uploaded, read back, changed and saved", async () => {
  const local = join(folder, "brought.txt");
  await writeFile(local, "first words\n");
  await browser.run("upload", "input[data-purpose=upload]", local);
  await untilWritten(at("brought.txt"), "first words\n");
  await open("brought.txt");
  await untilText("first words\n");
  await write("other words\n");
  await browser.click("Save");
  await browser.until("document.querySelector('.viewer [role=status]').innerText === 'Saved'");
  assert.equal(await readFile(at("brought.txt"), "utf8"), "other words\n");
  await browser.screenshot("files");
});

test("code is highlighted, and the keyboard shortcut saves it", async () => {
  await writeFile(at("main.rs"), 'fn main() {\n    println!("hi"); // said\n}\n');
  await open("main.rs");
  await browser.until(`${EDITOR}?.querySelectorAll(".cm-line span[class]").length > 3`);
  await browser.screenshot("files-code");
  await write("fn main() {}\n");
  await browser.run("press", "Control+s");
  await untilWritten(at("main.rs"), "fn main() {}\n");
});

test("line endings are preserved", async () => {
  await writeFile(at("dos.txt"), "one\r\ntwo\r\n");
  await open("dos.txt");
  await untilText("one\ntwo\n");
  await browser.evaluate(`${EDITOR}.querySelector(".cm-content").focus()`);
  await browser.run("press", "Control+Home");
  await browser.run("keyboard", "inserttext", "zero ");
  await browser.run("press", "Control+s");
  await untilWritten(at("dos.txt"), "zero one\r\ntwo\r\n");
});

test("a file that the agent has changed in the meantime is not overwritten by accident", async () => {
  await writeFile(at("shared.txt"), "one");
  await open("shared.txt");
  await untilText("one");
  await writeFile(at("shared.txt"), "by the agent");
  await write("by me");
  await browser.click("Save");
  await browser.untilShown("This file has changed since it was read");
  await browser.screenshot("files-conflict");
  assert.equal(await readFile(at("shared.txt"), "utf8"), "by the agent");
  await browser.click("Load the current version");
  await untilText("by the agent");
  await writeFile(at("shared.txt"), "by the agent again");
  await write("by me after all");
  await browser.click("Save");
  await browser.click("Overwrite it");
  await untilWritten(at("shared.txt"), "by me after all");
});

test("unsaved changes survive opening another file", async () => {
  await open("shared.txt");
  await write("not saved yet");
  await browser.until("document.querySelector('.viewer .chip')?.innerText === 'changed'");
  await open("dos.txt");
  await untilText("zero one\ntwo\n");
  await open("shared.txt");
  await untilText("not saved yet");
  await browser.click("Save");
  await untilWritten(at("shared.txt"), "not saved yet");
});

test("a file is created, and a name that already exists is refused", async () => {
  await browser.click("New file");
  await browser.run("fill", "dialog input[name=name]", "dos.txt");
  await browser.click("Create file");
  await browser.until("document.querySelector('dialog .alert')?.innerText === 'A file named dos.txt already exists.'");
  await browser.screenshot("files-new");
  await browser.run("fill", "dialog input[name=name]", "notes/new.md");
  await browser.click("Create file");
  await browser.until("document.querySelector('.viewer')?.ariaLabel.endsWith('/notes/new.md')");
  await untilText("");
  assert.equal(await readFile(at("notes", "new.md"), "utf8"), "");
  await write("# Made here");
  await browser.run("press", "Control+s");
  await untilWritten(at("notes", "new.md"), "# Made here");
});

test("a folder is created, and dropped files and folders are uploaded into it", async () => {
  await browser.click("Close file");
  await browser.click("New folder");
  await browser.run("fill", "dialog input[name=name]", "made here");
  await browser.click("Create folder");
  await browser.until(row("made here"));
  await browser.evaluate(`${row("made here")}.click()`);
  await browser.until("document.querySelector('.files-status').innerText.endsWith('/made here')");
  // A script cannot create folders to drop, so the test imitates the browser's objects for dropped folders.
  await browser.evaluate(`{
    const file = (name, text) => ({ isFile: true, name, file: (done) => done(new File([text], name)) });
    const folder = (name, ...children) => ({
      name,
      createReader() {
        const parts = [children, []];
        return { readEntries: (done) => done(parts.shift()) };
      },
    });
    const entries = [folder("dropped", file("a.txt", "a"), folder("deep", file("b.txt", "b"))), file("c.txt", "c")];
    const dataTransfer = { files: [], items: entries.map((entry) => ({ webkitGetAsEntry: () => entry })) };
    const drop = new Event("drop", { bubbles: true, cancelable: true });
    Object.defineProperty(drop, "dataTransfer", { value: dataTransfer });
    document.querySelector(".files").dispatchEvent(drop);
  }`);
  await browser.untilShown("3 files uploaded to");
  assert.equal(await readFile(at("made here", "dropped", "deep", "b.txt"), "utf8"), "b");
  assert.equal(await readFile(at("made here", "c.txt"), "utf8"), "c");
});

test("a picked folder is uploaded recursively", async () => {
  await mkdir(join(folder, "picked", "inner"), { recursive: true });
  await writeFile(join(folder, "picked", "one.txt"), "1");
  await writeFile(join(folder, "picked", "inner", "two.txt"), "2");
  await browser.run("upload", "input[data-purpose=upload-folder]", join(folder, "picked"));
  await browser.untilShown("2 files uploaded to");
  assert.equal(await readFile(at("made here", "picked", "inner", "two.txt"), "utf8"), "2");
});

test("a folder is downloaded as an archive", async () => {
  const archive = join(folder, "packed.tar.gz");
  await browser.run("download", "button[aria-label='Download folder']", archive);
  const names = execFileSync("tar", ["-tzf", archive], { encoding: "utf8" });
  assert.match(names, /dropped\/deep\/b\.txt/);
  assert.match(names, /picked\/inner\/two\.txt/);
});

test("a file is moved, and a name conflict is reported", async () => {
  await open("brought.txt");
  await browser.click("Move");
  await browser.run("fill", "dialog input[name=name]", "shared.txt");
  await browser.evaluate("document.querySelector('dialog form').requestSubmit()");
  await browser.until("document.querySelector('dialog .alert')");
  await browser.screenshot("files-move");
  await browser.run("fill", "dialog input[name=name]", "made here/moved.txt");
  await browser.evaluate("document.querySelector('dialog form').requestSubmit()");
  await browser.until("document.querySelector('.viewer')?.ariaLabel.endsWith('made here/moved.txt')");
  await untilText("other words\n");
  assert.equal(existsSync(at("brought.txt")), false);
  assert.equal(await readFile(at("made here", "moved.txt"), "utf8"), "other words\n");
});

test("a file is deleted with two presses", async () => {
  await open("shared.txt");
  await browser.click("Delete");
  assert.equal(existsSync(at("shared.txt")), true);
  await browser.click("Really delete it");
  await browser.until(`!${row("shared.txt")} && !document.querySelector(".viewer")`);
  assert.equal(existsSync(at("shared.txt")), false);
});

test("a folder is renamed, and deleted recursively", async () => {
  await browser.click("Move folder");
  await browser.run("fill", "dialog input[name=name]", "renamed");
  await browser.evaluate("document.querySelector('dialog form').requestSubmit()");
  await browser.until(`${row("renamed")} && !${row("made here")}`);
  assert.equal(existsSync(at("renamed", "dropped", "deep", "b.txt")), true);
  await browser.click("Delete folder");
  await browser.click("Really delete renamed");
  await browser.until(`!${row("renamed")}`);
  assert.equal(existsSync(at("renamed")), false);
});

test("changes by the agent appear by themselves", async () => {
  await writeFile(at("appeared.txt"), "x");
  await browser.until(row("appeared.txt"));
  await rm(at("appeared.txt"));
  await browser.until(`!${row("appeared.txt")}`);
});

test("a missing folder is reported, and binary files are not opened as text", async () => {
  await writeFile(at("bytes.bin"), Buffer.from([0, 255, 1, 254]));
  await open("bytes.bin");
  await browser.untilShown("Not a text file. Download it instead.");
  await browser.run("fill", "input[aria-label='Folder to show']", join(server.workspace, "nowhere"));
  await browser.run("press", "Enter");
  await browser.until("document.querySelector('.files-tree .alert')");
});

test("there are no script errors and no violations of the content security policy", async () => {
  assert.deepEqual(await browser.pageErrors(), []);
  assert.deepEqual(await browser.accessibilityViolations(), []);
});
