import { startSlowTurn, startTalk, TURN_MS } from "../harness/talk.ts";
import { pause, until, within } from "../harness/waiting.ts";
import { chunksOf } from "../wire/journal.ts";
import type { Step } from "./step.ts";

const CUTS = 5;
const BETWEEN_CUTS_MS = 400;

export const reconnect: Step = {
  name: "reconnect",
  shows: `The connection is cut ${CUTS} times in the middle of a turn; the client goes on with \`Last-Event-ID\` and has heard everything once.`,
  limitMs: 120_000,
  async run(stage) {
    const talk = await startTalk(stage);
    const from = stage.journal.entries.length;
    const before = stage.proxy.resumptions();
    const { result } = await startSlowTurn(stage, talk, 4);
    for (let cuts = 0; cuts < CUTS; cuts += 1) {
      stage.proxy.cut();
      await pause(BETWEEN_CUTS_MS);
    }
    const { text } = await within("the end of the turn", TURN_MS, result);
    if (!text.includes("word1 ") || !text.includes("word40")) throw new Error(`it said "${text}"`);
    const resumptions = stage.proxy.resumptions() - before;
    if (resumptions === 0) throw new Error("the client never went on with a Last-Event-ID");
    const { serverId = "" } = talk.client.connection ?? {};
    const onTheWire = () => chunksOf(stage.journal, serverId, talk.session.agentSessionId, from);
    await until("the journal to have the whole turn", 5_000, () => onTheWire().join("").includes("word40"));
    const [heard, sent] = [talk.said, onTheWire()];
    if (JSON.stringify(heard) !== JSON.stringify(sent)) {
      throw new Error(`${sent.length} pieces were sent and ${heard.length} heard: ${JSON.stringify(heard)}`);
    }
  },
};
