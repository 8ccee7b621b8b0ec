/** A browser, driven by agent-browser the way a person would: by names and roles, by keys, by looking. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const AGENT_BROWSER = fileURLToPath(new URL("../../../packages/node_modules/.bin/agent-browser", import.meta.url));
const ARTIFACTS = fileURLToPath(new URL("../../artifacts/", import.meta.url));
/** The browser is not to call anybody but the server under test. */
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
  /** Any command of agent-browser; its `data`. */
  run(...command: string[]): Promise<Record<string, unknown>>;
  open(url: string): Promise<void>;
  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T>;
  /** Waits until an expression in the page is true; 20 seconds unless told. */
  until(expression: string, patienceMs?: number): Promise<void>;
  /** Waits until the page shows a text. */
  untilShown(text: string): Promise<void>;
  /** Presses a button by its name, or by the beginning of it where no button has it whole. */
  press(name: string): Promise<void>;
  /** Writes into the message field and sends it. */
  say(text: string): Promise<void>;
  /** Empties a field. */
  clear(selector: string): Promise<void>;
  /** Keeps a picture of the page. */
  picture(name: string): Promise<void>;
  /** What axe finds that is serious or worse. */
  seriousFindings(): Promise<readonly string[]>;
  /** Errors of scripts on the page, and what its policy has refused since it was loaded. */
  complaints(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function openBrowser(): Promise<Browser> {
  const home = await mkdtemp(join(tmpdir(), "ab-"));
  await mkdir(ARTIFACTS, { recursive: true });
  const environment = {
    ...process.env,
    HOME: home,
    AGENT_BROWSER_SESSION: "inspector",
    AGENT_BROWSER_EXECUTABLE_PATH: process.env.AGENT_BROWSER_EXECUTABLE_PATH ?? chromium(),
    AGENT_BROWSER_ARGS: ARGUMENTS.join(","),
    AGENT_BROWSER_INIT_SCRIPTS: fileURLToPath(new URL("refusals.js", import.meta.url)),
    // The server under test is on loopback; whatever proxy the machine has is not for it.
    NO_PROXY: "127.0.0.1,localhost",
    AGENT_BROWSER_IDLE_TIMEOUT_MS: "120000",
  };

  const run: Browser["run"] = (...command) =>
    new Promise((resolve, reject) => {
      const options = { env: environment, timeout: COMMAND_MS, maxBuffer: 64 << 20 };
      execFile(AGENT_BROWSER, ["--json", ...command], options, (failure, output) => {
        try {
          const { success, data, error } = JSON.parse(output) as Answer;
          if (success) resolve(data ?? {});
          else reject(new Error(`agent-browser ${command.slice(0, 3).join(" ")}: ${error}`));
        } catch {
          reject(failure ?? new Error(`agent-browser said: ${output.slice(0, 500)}`));
        }
      });
    });

  const evaluate = async <T>(expression: string): Promise<T> => {
    const encoded = Buffer.from(expression).toString("base64");
    return (await run("eval", "-b", encoded)).result as T;
  };
  const until = async (expression: string, patienceMs = UNTIL_MS): Promise<void> => {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      if (await evaluate<boolean>(`Boolean(${expression})`)) return;
      if (Date.now() > deadline) {
        await picture("failure");
        throw new Error(`still not so: ${expression}\nthe page shows: ${await evaluate("document.body.innerText")}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  };
  const picture = async (name: string): Promise<void> => void (await run("screenshot", join(ARTIFACTS, `${name}.png`)));

  return {
    run,
    evaluate,
    until,
    picture,
    async open(url) {
      await run("open", url);
      await until("document.querySelector('main')");
    },
    untilShown: (text) => until(`document.body.innerText.includes(${JSON.stringify(text)})`),
    async press(name) {
      const named = `[...document.querySelectorAll("button:not(:disabled)")]
        .map((button) => button.ariaLabel ?? button.innerText.trim())`;
      await until(`${named}.some((name) => name.includes(${JSON.stringify(name)}))`);
      const isWhole = await evaluate<boolean>(`${named}.includes(${JSON.stringify(name)})`);
      await run("find", "role", "button", "click", "--name", name, ...(isWhole ? ["--exact"] : []));
    },
    async say(text) {
      await until("document.querySelector('textarea[aria-label=Message]:not(:disabled)')");
      await run("fill", "textarea[aria-label=Message]", text);
      await run("press", "Enter");
    },
    async clear(selector) {
      await run("focus", selector);
      await run("press", "Control+a");
      await run("press", "Delete");
    },
    async seriousFindings() {
      const { violations } = (await run("a11y")) as { violations?: readonly Finding[] };
      return (violations ?? [])
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, help, nodes }) => `${id}: ${help} (${nodes?.map(({ html }) => html).join(" ")})`);
    },
    async complaints() {
      const { errors } = (await run("errors")) as { errors?: readonly unknown[] };
      const refused = await evaluate<readonly string[]>("globalThis.refusals");
      return [...(errors ?? []), ...refused].map((complaint) => JSON.stringify(complaint));
    },
    async close() {
      await run("close").catch(() => undefined);
      await rm(home, { recursive: true, force: true });
    },
  };
}

interface Answer {
  readonly success: boolean;
  readonly data: Record<string, unknown> | null;
  readonly error: string | null;
}

interface Finding {
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
