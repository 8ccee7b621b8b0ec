import { startSlowTurn, startTalk } from "../harness/talk.ts";
import { until, within } from "../harness/waiting.ts";
import type { Step } from "./step.ts";

/** An agent that takes longer has not been cancelled: the turn goes on for a minute. */
const CANCELLED_MS = 15_000;

export const cancel: Step = {
  name: "cancel",
  shows:
    "A turn is cancelled in its middle; it ends, the model is let go of, and the same session takes another prompt.",
  limitMs: 120_000,
  async run(stage) {
    const talk = await startTalk(stage);
    const { result } = await startSlowTurn(stage, talk, 60);
    await talk.client.cancel(talk.session.id);
    const { stopReason } = await within("the cancelled turn to end", CANCELLED_MS, result);
    const told = talk.said.length;
    await talk.alive("after the cancel");
    const late = talk.said.slice(told).filter((chunk) => /word\d/.test(chunk));
    if (late.length > 0) throw new Error(`${late.length} words of the cancelled turn came in the next one`);
    const isLetGo = async () => (await stage.model.newest("slow"))?.outcome === "abandoned";
    await until("the agent to hang up on the model", 5_000, isLetGo);
    return stopReason === "cancelled" ? undefined : `the turn ends with \`${stopReason}\`, not \`cancelled\``;
  },
};
