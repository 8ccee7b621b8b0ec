/** Runs every example in a project with the package installed. */

import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "./testing/folder.ts";
import { BINARY, startTestServer } from "./testing/server.ts";

const EXAMPLES = fileURLToPath(new URL("../../../examples", import.meta.url));
const PACKAGE = fileURLToPath(new URL("..", import.meta.url));

/** Makes a folder with the examples and this package. */
async function installed(): Promise<string> {
  const folder = await temporaryFolder();
  for (const name of readdirSync(EXAMPLES)) {
    if (name.endsWith(".ts") || name === "package.json") cpSync(join(EXAMPLES, name), join(folder, name));
  }
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(PACKAGE, join(folder, "node_modules/sandbox-agent"));
  return folder;
}

interface Run {
  readonly folder: string;
  readonly args: readonly string[];
  readonly input?: string;
  readonly waitFor?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs an example to its end. The input is written once the output contains `waitFor`. */
function run({ folder, args, input = "", waitFor = "", env = {} }: Run): Promise<{ code: number | null; out: string }> {
  return new Promise((resolve) => {
    const environment = {
      ...process.env,
      SANDBOX_AGENT_BIN: BINARY,
      SANDBOX_AGENT_DATA_DIR: join(folder, "data"),
      ...env,
    };
    const program = spawn(process.execPath, args, { cwd: folder, env: environment });
    let out = "";
    for (const pipe of [program.stdout, program.stderr]) {
      pipe.setEncoding("utf8").on("data", (text: string) => {
        out += text;
        if (waitFor !== "" && out.includes(waitFor)) program.stdin.end(input);
      });
    }
    onTestFinished(() => void program.kill());
    program.on("exit", (code) => resolve({ code, out }));
    if (waitFor === "") program.stdin.end(input);
  });
}

describe("examples", () => {
  it("chat.ts", async () => {
    const folder = await installed();
    const { code, out } = await run({ folder, args: ["chat.ts"], input: "echo hello there\ntool\n\n" });
    expect(out).toContain("Talking to Mock Agent");
    expect(out).toContain("hello there");
    expect(out).toContain("[Count the lines of README.md]");
    expect(code).toBe(0);
  });

  it("permissions.ts", async () => {
    const folder = await installed();
    const allowed = await run({ folder, args: ["permissions.ts"], input: "always\n", waitFor: "reject?" });
    expect(allowed.out).toContain("The agent wants to: Edit file 1");
    expect(allowed.out).toContain("allow-always");
    expect(allowed.code).toBe(0);
    const refused = await run({ folder, args: ["permissions.ts"], input: "hm\n", waitFor: "reject?" });
    expect(refused.out).toContain("reject-once");
  });

  it("upload-project.ts, with a server of its own and with a given one", async () => {
    const folder = await installed();
    const project = join(folder, "my-project");
    mkdirSync(join(project, "src"), { recursive: true });
    writeFileSync(join(project, "src/main.ts"), "export {};\n");
    writeFileSync(join(project, "README.md"), "# Mine\n");
    const args = ["upload-project.ts", project];
    const own = await run({ folder, args });
    expect(own.out).toMatch(/Sent \d+ files/);
    expect(own.out).toContain("Changed: NOTES.md");
    expect(own.code).toBe(0);
    const server = await startTestServer();
    const env = { SANDBOX_AGENT_URL: server.baseUrl, SANDBOX_AGENT_TOKEN: server.token };
    const given = await run({ folder, args, env });
    expect(given.out).toContain(`${server.folder}/project`);
    expect(given.out).toContain("Changed: NOTES.md");
  });

  it("resume.ts, twice", async () => {
    const folder = await installed();
    const first = await run({ folder, args: ["resume.ts", "s.db", "mock", "echo the plan is to build a boat"] });
    expect(first.out).toContain("The session was new; 0 events so far.");
    const second = await run({ folder, args: ["resume.ts", "s.db"] });
    expect(second.out).toContain("The session was replayed");
    expect(second.out).toContain("build a boat");
    expect([first.code, second.code]).toEqual([0, 0]);
  });
});
