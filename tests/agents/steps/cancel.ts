import { until, within } from "../../../packages/testing/until.ts";
import { startConversation, startSlowTurn } from "../harness/conversation.ts";
import type { Step } from "./step.ts";

/** A turn that ends later than this was not cancelled. Without a cancellation it would run for a minute. */
const CANCELLED_MS = 15_000;

export const cancel: Step = {
  name: "cancel",
  shows:
    "A running turn is cancelled; it ends, the request to the model is aborted, and the same session takes another prompt.",
  limitMs: 120_000,
  async run(testbed) {
    const conversation = await startConversation(testbed);
    const { result } = await startSlowTurn(testbed, conversation, 60);
    await conversation.client.cancel(conversation.session.id);
    const { stopReason } = await within("the cancelled turn to end", CANCELLED_MS, result);
    const received = conversation.chunks.length;
    await conversation.expectEcho("after the cancel");
    const late = conversation.chunks.slice(received).filter((chunk) => /word\d/.test(chunk));
    if (late.length > 0) throw new Error(`${late.length} chunks of the cancelled turn arrived in the next one`);
    const isAborted = async () => (await testbed.model.newest("slow"))?.outcome === "abandoned";
    await until("the agent to close its request to the model", isAborted, 5_000);
    return stopReason === "cancelled" ? undefined : `the turn ends with \`${stopReason}\`, not \`cancelled\``;
  },
};
