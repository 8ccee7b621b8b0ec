// Runs in the bundler test's page, with the two packages as they are built: a turn with `sandbox-agent`, and a request
// with `acp-http-client`. Plain JavaScript, because not every bundler reads TypeScript.

import { connectAcp } from "acp-http-client";
import { SandboxAgentClient } from "sandbox-agent";
import { indexedDbStore } from "sandbox-agent/indexeddb";

async function visit() {
  const query = new URLSearchParams(location.search);
  const [baseUrl, token] = [query.get("baseUrl"), query.get("token")];
  const store = await indexedDbStore();
  const client = new SandboxAgentClient({ baseUrl, token, agent: "mock", store });
  const session = await client.newSession();
  const types = [];
  const turn = session.prompt("echo bundled");
  for await (const { type } of turn) types.push(type);
  const { text } = await turn;
  await client.dispose();
  await store.close();

  const acp = connectAcp(`${baseUrl}/v1/acp/bundled?agent=mock`, { token });
  const { protocolVersion } = await acp.connection.agent.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: {},
  });
  await acp.close();

  const started = await SandboxAgentClient.start({ agent: "mock" }).catch(({ code, message }) => ({ code, message }));
  return { text, first: types.at(0), last: types.at(-1), protocolVersion, started };
}

visit()
  .catch((error) => ({ error: String(error.stack) }))
  .then((result) => fetch("/done", { method: "POST", body: JSON.stringify(result) }));
