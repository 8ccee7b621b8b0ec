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

test("a choice in a longer form is a row of buttons, and a long list is a list", async () => {
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

test("Alt+A shows hidden requests and goes to the first answer", async () => {
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

test("there are no script errors and no violations of the content security policy", async () => {
  assert.deepEqual(await browser.pageErrors(), []);
});
