/**
 * A minimal agent that was written for an early version of the protocol: it opens sessions, answers prompts, and offers
 * modes and models through the protocol's older requests. It stores nothing, and cannot load, list, fork or close
 * sessions.
 */

import { createInterface } from "node:readline";

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { sessionId?: string; prompt?: { text?: string }[]; modeId?: string; modelId?: string };
}

let [sessions, mode, model] = [0, "ask", "small"];

const say = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

function answer({ method, params }: Message): object | undefined {
  switch (method) {
    case "initialize":
      return { protocolVersion: 1, agentCapabilities: {} };
    case "session/new":
      sessions += 1;
      return {
        sessionId: `plain-${sessions}`,
        modes: { currentModeId: mode, availableModes: [{ id: "ask", name: "Ask" }] },
        models: { currentModelId: model, availableModels: [{ modelId: "small", name: "Small" }] },
      };
    case "session/set_mode":
      mode = params?.modeId ?? mode;
      return {};
    case "session/set_model":
      model = params?.modelId ?? model;
      return {};
    case "session/prompt": {
      const text = params?.prompt?.map((block) => block.text ?? "").join("\n") ?? "";
      if (text === "die") process.exit(3);
      const content = { type: "text", text: `mode ${mode}, model ${model}: ${text}` };
      const update = { sessionUpdate: "agent_message_chunk", content };
      say({ method: "session/update", params: { sessionId: params?.sessionId, update } });
      return { stopReason: "end_turn" };
    }
    default:
      return undefined;
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line) as Message;
  if (message.id === undefined || message.method === undefined) return;
  const result = answer(message);
  const error = { code: -32601, message: `"Method not found": ${message.method}` };
  say({ id: message.id, ...(result ? { result } : { error }) });
});
