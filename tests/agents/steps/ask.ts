import { startConversation } from "../harness/conversation.ts";
import { NotOffered } from "../harness/outcome.ts";
import type { Step } from "./step.ts";

export const ask: Step = {
  name: "ask",
  shows: "The agent asks the user a question and receives the answer.",
  limitMs: 90_000,
  async run(testbed) {
    const conversation = await startConversation(testbed);
    const questions: string[] = [];
    const stop = conversation.client.onQuestion((question) => {
      questions.push(question.questionId);
      return question.fields.map(({ options, isRequired }) =>
        [options[0]?.id ?? (isRequired ? "Yes" : "")].filter(Boolean),
      );
    });
    try {
      const { text } = await conversation.turn("ask May I go on?", 20_000);
      if (questions.length > 0) {
        if (!/yes/i.test(text))
          throw new Error(`after the answer "Yes", the agent's tool returned to the model: "${text.slice(0, 300)}"`);
        return undefined;
      }
      if (text.includes("no tool to ask")) throw new NotOffered("it has no tool for questions");
      if (conversation.permissionRequests.length > 0)
        throw new NotOffered("it uses a permission request with its own fields");
      throw new NotOffered(`its tool refuses: "${text.replace(/\s+/g, " ").slice(0, 120)}"`);
    } finally {
      stop();
    }
  },
};
