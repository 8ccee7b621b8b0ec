import { until, within } from "../../../packages/testing/until.ts";
import { startConversation, startSlowTurn } from "../harness/conversation.ts";
import type { Step } from "./step.ts";

/** An agent that takes longer has not been cancelled: the turn goes on for a minute. */
const CANCELLED_MS = 15_000;

export const cancel: Step = {
  name: "cancel",
  shows:
    "A turn is cancelled in its middle; it ends, the model is let go of, and the same session takes another prompt.",
  limitMs: 120_000,
  async run(testbed) {
    const conversation = await startConversation(testbed);
    const { result } = await startSlowTurn(testbed, conversation, 60);
    await conversation.client.cancel(conversation.session.id);
    const { stopReason } = await within("the cancelled turn to end", CANCELLED_MS, result);
    const told = conversation.chunks.length;
    await conversation.expectEcho("after the cancel");
    const late = conversation.chunks.slice(told).filter((chunk) => /word\d/.test(chunk));
    if (late.length > 0) throw new Error(`${late.length} words of the cancelled turn came in the next one`);
    const isLetGo = async () => (await testbed.model.newest("slow"))?.outcome === "abandoned";
    await until("the agent to close its request to the model", isLetGo, 5_000);
    return stopReason === "cancelled" ? undefined : `the turn ends with \`${stopReason}\`, not \`cancelled\``;
  },
};
