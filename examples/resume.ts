/**
 * A conversation that outlives the program: run it again to continue it.
 *
 *   node resume.ts FILE [agent] [prompt]
 */

import { SandboxAgentClient } from "sandbox-agent";
import { sqliteStore } from "sandbox-agent/sqlite";

const [path = "sessions.db", agent = "mock", prompt = "What did we talk about?"] = process.argv.slice(2);
const store = sqliteStore({ path });
await using client = await SandboxAgentClient.start({ agent, store });

const isKnown = (await client.listSessions()).some(({ id }) => id === "my-work");
const session = isKnown ? await client.resumeSession("my-work") : await client.newSession({ sessionId: "my-work" });
console.log(`The session was ${session.openedBy}; ${session.eventCount} events so far.`);

const { text } = await client.prompt(session.id, prompt);
console.log(text);
