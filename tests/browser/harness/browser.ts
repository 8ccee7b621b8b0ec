/** Runs a browser with agent-browser, a tool that finds elements by role and name, presses keys and makes pictures. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const AGENT_BROWSER = fileURLToPath(new URL("../../../packages/node_modules/.bin/agent-browser", import.meta.url));
const ARTIFACTS = fileURLToPath(new URL("../../artifacts/", import.meta.url));
/** The browser's arguments. They keep it from contacting anything but the server under test. */
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-sync",
  "--no-first-run",
];
const COMMAND_MS = 60_000;
const UNTIL_MS = 20_000;
const POLL_MS = 100;

export interface Browser {
  /** Runs a command of agent-browser; resolves with the `data` that it prints. */
  run(...command: string[]): Promise<Record<string, unknown>>;
  open(url: string): Promise<void>;
  /** Evaluates an expression in the page. */
  evaluate<T>(expression: string): Promise<T>;
  /** Waits until an expression in the page is true. Default deadline: 20 s. */
  until(expression: string, deadlineMs?: number): Promise<void>;
  /** Waits until the page shows a text. */
  untilShown(text: string): Promise<void>;
  /** Clicks the button with this name or, if there is none, one whose name contains it. */
  click(name: string): Promise<void>;
  /** Types a message and sends it. */
  send(text: string): Promise<void>;
  /** Empties an input. */
  clear(selector: string): Promise<void>;
  /** Saves a screenshot. */
  screenshot(name: string): Promise<void>;
  /** The serious and critical violations of accessibility rules that the checker axe finds. */
  accessibilityViolations(): Promise<readonly string[]>;
  /** Script errors, and violations of the content security policy since the page was loaded. */
  pageErrors(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function openBrowser(): Promise<Browser> {
  const home = await mkdtemp(join(tmpdir(), "ab-"));
  // Each test file has its own browser with its own profile, so that test files can run in parallel.
  const name = basename(home);
  await mkdir(ARTIFACTS, { recursive: true });
  const environment = {
    ...process.env,
    HOME: home,
    AGENT_BROWSER_SESSION: name,
    AGENT_BROWSER_EXECUTABLE_PATH: process.env.AGENT_BROWSER_EXECUTABLE_PATH ?? chromium(),
    AGENT_BROWSER_ARGS: ARGUMENTS.join(","),
    AGENT_BROWSER_INIT_SCRIPTS: fileURLToPath(new URL("csp-violations.js", import.meta.url)),
    // The server under test is on loopback; a proxy of this machine must not be used for it.
    NO_PROXY: "127.0.0.1,localhost",
    AGENT_BROWSER_IDLE_TIMEOUT_MS: "120000",
  };

  const run: Browser["run"] = (...command) =>
    new Promise((resolve, reject) => {
      const options = { env: environment, timeout: COMMAND_MS, maxBuffer: 64 << 20 };
      execFile(AGENT_BROWSER, ["--json", ...command], options, (failure, output) => {
        try {
          const { success, data, error } = JSON.parse(output) as Output;
          if (success) resolve(data ?? {});
          else reject(new Error(`agent-browser ${command.slice(0, 3).join(" ")}: ${error}`));
        } catch {
          reject(failure ?? new Error(`agent-browser printed: ${output.slice(0, 500)}`));
        }
      });
    });

  const evaluate = async <T>(expression: string): Promise<T> => {
    const encoded = Buffer.from(expression).toString("base64");
    return (await run("eval", "-b", encoded)).result as T;
  };
  const until = async (expression: string, deadlineMs = UNTIL_MS): Promise<void> => {
    const deadline = Date.now() + deadlineMs;
    for (;;) {
      if (await evaluate<boolean>(`Boolean(${expression})`)) return;
      if (Date.now() > deadline) {
        await screenshot(`failure-${name}`);
        throw new Error(
          `not true before the deadline: ${expression}\nthe page shows: ${await evaluate("document.body.innerText")}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  const screenshot = async (name: string): Promise<void> =>
    void (await run("screenshot", join(ARTIFACTS, `${name}.png`)));

  return {
    run,
    evaluate,
    until,
    screenshot,
    async open(url) {
      await run("open", url);
      await until("document.querySelector('main')");
    },
    untilShown: (text) => until(`document.body.innerText.includes(${JSON.stringify(text)})`),
    async click(name) {
      const named = `[...document.querySelectorAll("button:not(:disabled)")]
        .map((button) => button.ariaLabel ?? button.innerText.trim())`;
      await until(`${named}.some((name) => name.includes(${JSON.stringify(name)}))`);
      const isWhole = await evaluate<boolean>(`${named}.includes(${JSON.stringify(name)})`);
      await run("find", "role", "button", "click", "--name", name, ...(isWhole ? ["--exact"] : []));
    },
    async send(text) {
      await until("document.querySelector('textarea[aria-label=Message]:not(:disabled)')");
      await run("fill", "textarea[aria-label=Message]", text);
      await run("press", "Enter");
    },
    async clear(selector) {
      await run("focus", selector);
      await run("press", "Control+a");
      await run("press", "Delete");
    },
    async accessibilityViolations() {
      const { violations } = (await run("a11y")) as { violations?: readonly Violation[] };
      return (violations ?? [])
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, help, nodes }) => `${id}: ${help} (${nodes?.map(({ html }) => html).join(" ")})`);
    },
    async pageErrors() {
      const { errors } = (await run("errors")) as { errors?: readonly unknown[] };
      const violations = await evaluate<readonly string[]>("globalThis.cspViolations");
      return [...(errors ?? []), ...violations].map((error) => JSON.stringify(error));
    },
    async close() {
      await run("close").catch(() => undefined);
      await rm(home, { recursive: true, force: true });
    },
  };
}

interface Output {
  readonly success: boolean;
  readonly data: Record<string, unknown> | null;
  readonly error: string | null;
}

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly help: string;
  readonly nodes?: readonly { readonly html?: string }[];
}

function chromium(): string {
  const found = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  if (!found) throw new Error("no browser: apt-get install chromium, or set AGENT_BROWSER_EXECUTABLE_PATH");
  return found;
}
