import { within } from "../../../packages/testing/until.ts";
import { startConversation, startSlowTurn, TURN_MS } from "../harness/conversation.ts";
import type { Step } from "./step.ts";

export const sessions: Step = {
  name: "sessions",
  shows: "Two sessions on one instance work at the same time, and each receives its own chunks only.",
  limitMs: 120_000,
  async run(testbed) {
    const slow = await startConversation(testbed);
    const quick = await startConversation(testbed);
    if (slow.session.id === quick.session.id) throw new Error("both have the same id");
    const { result } = await startSlowTurn(testbed, slow, 4);
    let isOver = false;
    result
      .finally(() => {
        isOver = true;
      })
      .catch(() => {});
    await quick.expectEcho("quick words");
    const overtook = !isOver;
    const { text } = await within("the end of the slow turn", TURN_MS, result);
    if (!text.includes("word40")) throw new Error(`the slow session received "${text.slice(-200)}"`);
    if (slow.chunks.join("").includes("quick words"))
      throw new Error("the slow session received the quick one's chunks");
    if (/word\d/.test(quick.chunks.join(""))) throw new Error(`the quick session received: ${quick.chunks.join("")}`);
    return overtook ? undefined : "one turn waits for the other";
  },
};
