/** Tests with an agent that does what the mock agent cannot: it has few abilities, and sends requests of all kinds. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
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

/** Makes the agent send a request, and waits until the page shows it. */
async function ask(method: string, params: object): Promise<void> {
  await browser.send(JSON.stringify([{ id: `ask-${method}`, method, params }]));
  await browser.until("document.querySelector('.agent-request')");
}
const form = (properties: object): object => ({
  mode: "form",
  message: "Where to?",
  requestedSchema: { type: "object", properties, required: Object.keys(properties) },
});
const oneOf = (...ids: string[]): object[] => ids.map((id) => ({ const: id, title: id.toUpperCase() }));

test("a form with one choice is a question with a button for each option", async () => {
  await ask("elicitation/create", form({ place: { type: "string", title: "Place", oneOf: oneOf("north", "south") } }));
  await browser.screenshot("one-choice");
  assert.equal(await browser.evaluate("document.querySelectorAll('.agent-request select').length"), 0);
  await browser.run("press", "Alt+2");
  await browser.until(`${lastAnswer} === '{"action":"accept","content":{"place":"south"}}'`);
  await browser.until(idle);
});

test("several choices are buttons that stay pressed, and Alt with a digit presses them", async () => {
  const options = [
    ["a", "Apples"],
    ["b", "Bread"],
    ["c", "Cheese"],
  ];
  await ask("_sandboxagent/session/request_question", { prompt: "What to buy?", options, multiple: true });
  await browser.run("press", "Alt+3");
  await browser.click("Apples");
  await browser.until("document.querySelectorAll('.agent-request [aria-pressed=true]').length === 2");
  await browser.screenshot("several-choices");
  assert.deepEqual(await browser.accessibilityViolations(), []);
  await browser.run("press", "Alt+4");
  await browser.until(`${lastAnswer} === '{"status":"answered","answers":[["c","a"]]}'`);
  await browser.until(idle);
});

test("a choice in a longer form is a row of buttons, and one with many options is a drop-down list", async () => {
  const many = Array.from({ length: 9 }, (_, index) => `option ${index}`);
  const properties = { size: { type: "string", enum: ["small", "large"] }, other: { type: "string", enum: many } };
  await ask("elicitation/create", form(properties));
  await browser.click("Send answers");
  await browser.until(`document.querySelector(".agent-request .alert")?.innerText === '"size" must be filled in'`);
  await browser.click("large");
  await browser.run("select", ".agent-request select", "option 7");
  await browser.screenshot("form-with-options");
  await browser.run("press", "Alt+1");
  await browser.until(`${lastAnswer} === '{"action":"accept","content":{"size":"large","other":"option 7"}}'`);
  await browser.until(idle);
});

test("Alt+A shows hidden requests and moves the focus to the first answer control", async () => {
  await ask("_sandboxagent/session/request_question", { prompt: "Your name?", options: [] });
  await browser.click("Hide");
  await browser.until("!document.querySelector('.agent-request')");
  await browser.run("press", "Alt+a");
  await browser.until("document.activeElement.ariaLabel === 'Answer'");
  await browser.run("keyboard", "inserttext", "Ada");
  await browser.run("press", "Alt+1");
  await browser.until(`${lastAnswer} === '{"status":"answered","answers":[["Ada"]]}'`);
  await browser.until(idle);
});

/** Makes the agent send a text. */
const say = (text: string): Promise<void> =>
  browser.send(
    JSON.stringify([
      {
        method: "session/update",
        params: { update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } },
      },
    ]),
  );

test("single newlines of an answer are kept", async () => {
  const last = "[...document.querySelectorAll('.markdown')].at(-1)";
  await say("Name: Ada\nCount: 3\n\n- first\n  line\n- second");
  await browser.until(`${last}?.querySelector("p")?.innerText === "Name: Ada\\nCount: 3"`);
  assert.equal(await browser.evaluate(`${last}.querySelector("li").innerText`), "first\nline");
  await browser.until(idle);
});

test("code is copied with one press, and a long block as a whole", async () => {
  const code = Array.from({ length: 400 }, (_, line) => `const value${line} = ${line};\n`).join("");
  await say(`Here it is:\n\n\`\`\`js\n${code}\`\`\`\n\nAnd run it:\n\n\`\`\`sh\nnode it.js\n\`\`\`\n`);
  await browser.untilShown("node it.js");
  await browser.until(idle);
  // A headless browser's clipboard cannot be read, so the test records what the page writes to it.
  await browser.evaluate("navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }");
  const press = (text: string): Promise<unknown> =>
    browser.evaluate(`[...document.querySelectorAll(".markdown .code-box")]
      .find((box) => box.innerText.includes(${JSON.stringify(text)})).querySelector("button").click()`);
  await press("node it.js");
  await browser.until(`globalThis.copied === "node it.js\\n"`);
  await browser.screenshot("copy-code");
  await press("value399");
  await browser.until(`globalThis.copied === ${JSON.stringify(code)}`);
});

test("there are no script errors and no violations of the content security policy", async () => {
  assert.deepEqual(await browser.pageErrors(), []);
});

test("the conversation is exported as Markdown and as HTML that runs nothing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "export-"));
  try {
    await say("Some **bold** words\nand <img src=x onerror=alert(1)><script>globalThis.ran = true</script>");
    await browser.untilShown("bold words");
    await browser.until(idle);
    const save = async (format: string, ending: string): Promise<string> => {
      await browser.click("Export");
      await browser.until("document.querySelector('dialog[open]')");
      const button = `[...document.querySelectorAll("dialog button")].find(({ innerText }) => innerText === "${format}")`;
      await browser.evaluate(`${button}.id = "save"`);
      const file = join(folder, `transcript.${ending}`);
      await browser.run("download", "#save", file);
      await browser.until("!document.querySelector('dialog')");
      return readFile(file, "utf8");
    };
    const markdown = await save("Markdown", "md");
    assert.match(markdown, /^# look\n\n- Agent: puppet\n/);
    assert.match(markdown, /\n## You \(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d, [\d.]+ m?s\)\n\n> look\n/);
    assert.match(markdown, /\n## Agent\n\nSome \*\*bold\*\* words\nand <img/);
    const html = await save("HTML", "html");
    assert.match(html, /^<!doctype html>\n/);
    assert.match(
      html,
      /Some <strong>bold<\/strong> words<br>\s*and &lt;img src=x onerror=alert\(1\)&gt;&lt;script&gt;/,
    );
    assert.doesNotMatch(html, /<script|<img/);
    assert.deepEqual(await browser.pageErrors(), []);
    await browser.open(pathToFileURL(join(folder, "transcript.html")).href);
    await browser.screenshot("exported");
    assert.equal(
      await browser.evaluate("document.querySelector('h1').innerText + ' ' + globalThis.ran"),
      "look undefined",
    );
    assert.deepEqual(await browser.pageErrors(), []);
    assert.deepEqual(await browser.accessibilityViolations(), []);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
