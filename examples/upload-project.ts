/**
 * Uploads a project to the sandbox, lets the agent work on it, and prints what has changed.
 *
 *   node upload-project.ts FOLDER [agent] [prompt]
 *
 * Uses the server at SANDBOX_AGENT_URL, with the token in SANDBOX_AGENT_TOKEN. Without that URL, starts a server.
 */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { type PackedFile, SandboxAgentClient } from "sandbox-agent";

const [folder = ".", agent = "mock", prompt = "write NOTES.md Reviewed."] = process.argv.slice(2);
const { SANDBOX_AGENT_URL: baseUrl, SANDBOX_AGENT_TOKEN: token } = process.env;

/** Yields the files of a folder, except installed dependencies and the data of git. */
function* filesOf(directory: string): Generator<PackedFile> {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (name === "node_modules" || name === ".git") continue;
    if (statSync(path).isDirectory()) yield* filesOf(path);
    else yield { path: relative(folder, path), content: readFileSync(path), mode: statSync(path).mode & 0o777 };
  }
}

await using client = baseUrl
  ? new SandboxAgentClient({ baseUrl, agent, files: true, ...(token && { token }) })
  : await SandboxAgentClient.start({ agent, files: true });

const { count } = await client.files.upload("project", filesOf(folder));
const { path: directory } = await client.files.stat("project");
console.log(`Sent ${count} files to ${directory}`);
const before = new Map((await client.files.list("project")).map(({ name, modified }) => [name, modified]));

const session = await client.newSession({ directory });
// The mock agent needs absolute paths; a real agent knows its working directory.
const { text } = await client.prompt(session.id, prompt.replace(/^write /, `write ${directory}/`));
console.log(text);

for (const { name, modified } of await client.files.list("project")) {
  if (before.get(name) !== modified) console.log(`Changed: ${name}`);
}
