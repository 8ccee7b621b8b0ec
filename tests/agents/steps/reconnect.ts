import { until, within } from "../../../packages/testing/until.ts";
import { startConversation, startSlowTurn, TURN_MS } from "../harness/conversation.ts";
import { chunksOf } from "../wire/journal.ts";
import type { Step } from "./step.ts";

const CUTS = 5;

export const reconnect: Step = {
  name: "reconnect",
  shows: `The connection is cut ${CUTS} times during a turn; the client resumes with \`Last-Event-ID\` and receives every event once.`,
  limitMs: 120_000,
  async run(testbed) {
    const conversation = await startConversation(testbed);
    const from = testbed.journal.entries.length;
    const before = testbed.proxy.resumptions();
    const { result } = await startSlowTurn(testbed, conversation, 4);
    for (let cuts = 0; cuts < CUTS; cuts += 1) {
      const resumed = testbed.proxy.resumptions();
      testbed.proxy.cut();
      await until("the client to resume", () => testbed.proxy.resumptions() > resumed, TURN_MS);
    }
    const { text } = await within("the end of the turn", TURN_MS, result);
    if (!text.includes("word1 ") || !text.includes("word40")) throw new Error(`the text was "${text}"`);
    const resumptions = testbed.proxy.resumptions() - before;
    if (resumptions === 0) throw new Error("the client never sent a Last-Event-ID");
    const { serverId = "" } = conversation.client.connection ?? {};
    const onTheWire = () => chunksOf(testbed.journal, serverId, conversation.session.agentSessionId, from);
    await until("the journal to have the whole turn", () => onTheWire().join("").includes("word40"), 5_000);
    const [received, sent] = [conversation.chunks, onTheWire()];
    if (JSON.stringify(received) !== JSON.stringify(sent)) {
      throw new Error(`${sent.length} chunks were sent and ${received.length} received: ${JSON.stringify(received)}`);
    }
  },
};
