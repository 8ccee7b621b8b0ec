import { type Conversation, startConversation } from "../harness/conversation.ts";
import { AgentError, type TurnResult } from "../harness/sdk.ts";
import type { Step } from "./step.ts";

export const fail: Step = {
  name: "fail",
  shows: "The model refuses a request (400): the user is shown an error, and the session stays usable.",
  limitMs: 150_000,
  async run(testbed) {
    const conversation = await startConversation(testbed);
    const shown = await failing(conversation);
    await conversation.expectEcho("recovered");
    return shown;
  },
};

/** Sends a prompt that the model refuses. Returns how the agent reports the failure to the user. */
async function failing(conversation: Conversation): Promise<string> {
  let result: TurnResult;
  try {
    result = await conversation.turn("fail 400", 90_000);
  } catch (error) {
    if (error instanceof AgentError) return `shown as error ${error.number}`;
    throw error;
  }
  const isShown = conversation.events.some(({ type }) => type === "error") || /400|fail|error/i.test(result.text);
  if (!isShown) {
    throw new Error(`the turn ended with ${result.stopReason} without reporting it: "${result.text.slice(0, 100)}"`);
  }
  return `shown as text, the turn ends with \`${result.stopReason}\``;
}
