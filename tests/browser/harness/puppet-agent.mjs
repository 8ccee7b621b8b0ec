// An agent that does what the prompt says. If the prompt is a JSON list of messages, the agent sends them in order. A
// message with an id is a request: the agent waits for the answer and quotes it. To any other prompt, the agent answers
// with the types of its content blocks. It accepts neither images nor embedded files.
import { createInterface } from "node:readline";

const answers = new Map();
const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const say = (sessionId, text) =>
  send({
    method: "session/update",
    params: { sessionId, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } } },
  });

async function act({ sessionId, prompt }) {
  const text = prompt.find((block) => block.type === "text")?.text ?? "";
  if (!text.startsWith("[")) return say(sessionId, prompt.map((block) => block.type).join(", "));
  for (const message of JSON.parse(text)) {
    const params = { sessionId, ...message.params };
    if (message.id === undefined) send({ ...message, params });
    else {
      const answer = new Promise((resolve) => answers.set(message.id, resolve));
      send({ ...message, params });
      say(sessionId, JSON.stringify(await answer));
    }
  }
}

const METHODS = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  "session/new": () => ({ sessionId: "puppet-session" }),
  "session/prompt": async (params) => {
    await act(params);
    return { stopReason: "end_turn" };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) answers.get(id)?.(result);
  else if (id !== undefined)
    Promise.resolve(METHODS[method]?.(params) ?? {}).then((done) => send({ id, result: done }));
}
