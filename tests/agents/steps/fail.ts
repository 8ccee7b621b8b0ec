import { AgentError, type TurnResult } from "../harness/sdk.ts";
import { startTalk, type Talk } from "../harness/talk.ts";
import type { Step } from "./step.ts";

export const fail: Step = {
  name: "fail",
  shows: "The model refuses a request (400): the user is shown an error, and the session lives.",
  limitMs: 150_000,
  async run(stage) {
    const talk = await startTalk(stage);
    const shown = await failing(talk);
    await talk.alive("recovered");
    return shown;
  },
};

/** How the failure is shown. */
async function failing(talk: Talk): Promise<string> {
  let result: TurnResult;
  try {
    result = await talk.turn("fail 400", 90_000);
  } catch (error) {
    if (error instanceof AgentError) return `shown as error ${error.number}`;
    throw error;
  }
  const isShown = talk.events.some(({ type }) => type === "error") || /400|fail|error/i.test(result.text);
  if (!isShown) {
    throw new Error(`the turn ended with ${result.stopReason} and no word about it: "${result.text.slice(0, 100)}"`);
  }
  return `shown as words, the turn ends with \`${result.stopReason}\``;
}
