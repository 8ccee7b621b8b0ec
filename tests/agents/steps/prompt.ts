import { startTalk } from "../harness/talk.ts";
import type { Step } from "./step.ts";

const WORDS = "The quick brown fox jumps over the lazy dog and is not seen again until the evening";

export const prompt: Step = {
  name: "prompt",
  shows: "A prompt is answered with the model's words, in pieces as the model says them.",
  limitMs: 90_000,
  async run(stage) {
    const talk = await startTalk(stage);
    const { stopReason } = await talk.alive(WORDS);
    if (stopReason !== "end_turn") throw new Error(`the turn ended with ${stopReason}`);
    if (!talk.said.join("").includes(WORDS)) throw new Error(`heard as events: ${JSON.stringify(talk.said)}`);
    return talk.said.length === 1 ? "in one piece" : undefined;
  },
};
