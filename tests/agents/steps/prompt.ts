import { startConversation } from "../harness/conversation.ts";
import type { Step } from "./step.ts";

const WORDS = "The quick brown fox jumps over the lazy dog and is not seen again until the evening";

export const prompt: Step = {
  name: "prompt",
  shows: "A prompt is answered with the model's text, in chunks as the model streams them.",
  limitMs: 90_000,
  async run(testbed) {
    const conversation = await startConversation(testbed);
    const { stopReason } = await conversation.expectEcho(WORDS);
    if (stopReason !== "end_turn") throw new Error(`the turn ended with ${stopReason}`);
    if (!conversation.chunks.join("").includes(WORDS))
      throw new Error(`received as events: ${JSON.stringify(conversation.chunks)}`);
    return conversation.chunks.length === 1 ? "in one chunk" : undefined;
  },
};
