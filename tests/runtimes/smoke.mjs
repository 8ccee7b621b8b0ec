/**
 * Runs both packages in any runtime: against a given server, over connections that are cut, and with a server that the
 * SDK starts. This is plain JavaScript that runs in Node.js, Deno and Bun. It uses the APIs that browsers have, too, and
 * `process`, which only these three runtimes have.
 *
 *   RUNTIME smoke.mjs BASE_URL TOKEN BINARY
 */

import { connectAcp } from "acp-http-client";
import { client as acpClient } from "acp-http-client/sdk";
import { SandboxAgentClient } from "sandbox-agent";

const [baseUrl, token, binary] = process.argv.slice(2);
const report = {};

/** Makes a `fetch` whose first event streams fail after a few chunks. */
function cutting(times) {
  let left = times;
  const cut = { count: 0 };
  const cuttingFetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream") || left === 0) return response;
    left -= 1;
    let pieces = 0;
    const breaking = new TransformStream({
      transform(piece, controller) {
        pieces += 1;
        controller.enqueue(piece);
        if (pieces < 3) return;
        cut.count += 1;
        controller.error(new Error("cut by the test"));
      },
    });
    const { status, headers } = response;
    return new Response(response.body.pipeThrough(breaking), { status, headers });
  };
  return { cut, fetch: cuttingFetch };
}

async function transport() {
  const { cut, fetch } = cutting(5);
  const texts = [];
  const app = acpClient()
    .onNotification("session/update", ({ params }) => {
      if (params.update.sessionUpdate === "agent_message_chunk") texts.push(params.update.content.text);
    })
    .onRequest("session/request_permission", () => ({ outcome: { outcome: "selected", optionId: "allow-once" } }));
  const acp = connectAcp(`${baseUrl}/v1/acp/runtime-${crypto.randomUUID()}?agent=mock`, { token, fetch }, app);
  const { agent } = acp.connection;
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await agent.request("session/new", { cwd: "/", mcpServers: [] });
  const prompt = (text) => agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  // The answer is slow enough to arrive in many chunks, so that connections can be cut between them.
  report.stopReason = (await prompt("slow 1")).stopReason;
  report.chunks = texts.length;
  report.distinct = new Set(texts).size;
  await prompt("permission");
  report.permission = texts.at(-1);
  report.cuts = cut.count;
  await acp.close();
  report.ended = (await acp.transport.ended).reason;
}

async function sdk() {
  const client = new SandboxAgentClient({ baseUrl, token, agent: "mock" });
  const types = new Set();
  client.onEvent(({ type }) => types.add(type));
  client.onQuestion(({ options }) => [[options[0].id]]);
  const session = await client.newSession();
  report.text = (await client.prompt(session.id, "echo from the SDK")).text;
  report.question = (await client.prompt(session.id, "question")).text;
  await client.files.write("runtime.txt", "hello");
  report.file = await client.files.readText("runtime.txt");
  const failure = await client.prompt(session.id, "crash 3").catch((error) => error);
  report.failure = `${failure.name} ${failure.exit?.exitCode}`;
  report.openedBy = (await client.resumeSession(session.id)).openedBy;
  report.types = [...types].sort();
  await client.dispose();
}

async function embedded() {
  const client = await SandboxAgentClient.start({ agent: "mock", binary });
  const session = await client.newSession();
  report.embedded = (await client.prompt(session.id, "echo from a server of its own")).text;
  const { baseUrl: address } = client.server;
  await client.dispose();
  report.stopped = await fetch(`${address}/healthz`).then(
    () => "still there",
    () => "gone",
  );
}

/** Uses `node:sqlite`, which older versions of Node.js do not have. */
async function sqlite() {
  const { sqliteStore } = await import("sandbox-agent/sqlite");
  const store = sqliteStore({ path: "sessions.db" });
  const client = new SandboxAgentClient({ baseUrl, token, agent: "mock", store });
  const session = await client.newSession();
  await client.prompt(session.id, "echo kept");
  await client.dispose();
  report.sqlite = JSON.stringify(await store.listEvents(session.id)).includes("kept");
  await store.close();
}

await transport();
await sdk();
await embedded();
await sqlite().catch((error) => {
  report.sqlite = error.code ?? error.message;
});
// There is no call to exit: nothing may keep the runtime alive.
console.log(JSON.stringify(report));
