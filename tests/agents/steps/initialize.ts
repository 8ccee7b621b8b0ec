import type { Step } from "./step.ts";

export const initialize: Step = {
  name: "initialize",
  shows: "An installed agent starts and answers `initialize` with protocol version 1 and its capabilities.",
  limitMs: 60_000,
  async run(testbed) {
    const began = performance.now();
    const client = await testbed.client();
    testbed.measurements.startMs = performance.now() - began;
    const serverId = client.connection?.serverId ?? "";
    const messages = testbed.journal.messages(serverId);
    const answer = messages.find(({ type, message }) => type === "message" && message.result !== undefined);
    const { protocolVersion } = (answer?.message.result ?? {}) as { protocolVersion?: unknown };
    if (protocolVersion !== 1) throw new Error(`it answered with protocol version ${protocolVersion}`);
    const { agentName, agentVersion } = client.connection ?? {};
    return [agentName, agentVersion].filter(Boolean).join(" ") || "it does not report its name";
  },
};
