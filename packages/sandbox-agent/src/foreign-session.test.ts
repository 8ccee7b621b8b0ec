/** Sessions that another client has opened: this client has no record of them, but the agent lists them. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import { collect, ofType } from "./testing/events.ts";
import { startTestServer, testClient } from "./testing/server.ts";

/** Two clients of one agent: `one` has opened a session in a directory of its own, `two` has just connected. */
async function sharedSession() {
  const server = await startTestServer();
  const directory = join(server.folder, "project");
  await mkdir(directory);
  const one = testClient(server, { serverId: "shared" });
  const { id } = await one.newSession({ directory });
  const two = testClient(server, { serverId: "shared", autoConnect: false });
  await two.connect();
  return { directory, id, one, two };
}

it.each(["loadSession", "resumeSession"] as const)("%s uses the session's own directory", async (open) => {
  const { directory, id, two } = await sharedSession();
  const session = await two[open](id);
  expect(session.directory).toBe(directory);
  expect((await two.prompt(id, "cwd")).text).toContain(`session: ${directory}\n`);
  expect((await two.listSessions())[0]).toMatchObject({ id, directory });
});

it.each(["loadSession", "resumeSession"] as const)(
  "%s finds the directory of a session that it attached to",
  async (open) => {
    const { directory, id, one, two } = await sharedSession();
    const events = collect(two);
    await one.prompt(id, "echo hello");
    await until("the session to be attached", () => ofType(events, "session.started").length > 0);
    const session = await two[open](id);
    expect(session.directory).toBe(directory);
    const attachments = [{ path: "notes.txt" }];
    const { text } = await two.prompt(id, { message: "meta", attachments });
    expect(text).toContain(`file://${directory}/notes.txt`);
  },
);

it("a directory that the caller gives takes precedence", async () => {
  const server = await startTestServer();
  const one = testClient(server, { serverId: "shared" });
  const { id } = await one.newSession({ directory: "/tmp" });
  const two = testClient(server, { serverId: "shared", autoConnect: false });
  await two.connect();
  expect((await two.loadSession(id, { directory: server.folder })).directory).toBe(server.folder);
});
