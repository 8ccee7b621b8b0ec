/** Runs in the browser test's page: opens a session that is stored in IndexedDB, and continues it after a reload. */

import { SandboxAgentClient } from "../index.ts";
import { indexedDbStore } from "../store/indexeddb.ts";

/** What the page reports about one visit. */
export interface Visit {
  readonly sessions: readonly string[];
  readonly openedBy: string;
  readonly text: string;
  readonly events: readonly (readonly [number, string])[];
  readonly files: string;
  readonly permission: string;
}

async function visit(): Promise<Visit> {
  const query = new URLSearchParams(location.search);
  const [baseUrl, token] = [query.get("baseUrl") ?? "", query.get("token") ?? ""];
  const store = await indexedDbStore();
  const client = new SandboxAgentClient({ baseUrl, token, agent: "mock", store });
  client.onPermission(() => "always");
  const sessions = (await client.listSessions()).map(({ id }) => id);
  const isKnown = sessions.includes("in-the-browser");
  const session = isKnown
    ? await client.resumeSession("in-the-browser")
    : await client.newSession({ sessionId: "in-the-browser" });
  const { text } = await client.prompt(session.id, isKnown ? "go on" : "echo kept in the browser");
  const permission = (await client.prompt(session.id, "permission")).text;
  await client.files.write("from-the-browser.txt", "hello");
  const files = await client.files.readText("from-the-browser.txt");
  const { events } = await client.getEvents(session.id);
  await client.dispose();
  await store.close();
  return {
    sessions,
    openedBy: session.openedBy,
    text,
    permission,
    files,
    events: events.map(({ sequence, event }) => [sequence, event.type] as const),
  };
}

visit()
  .catch((error: unknown) => ({ error: error instanceof Error ? error.stack : String(error) }))
  .then((result) => fetch("/done", { method: "POST", body: JSON.stringify(result) }));
