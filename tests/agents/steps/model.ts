import { startConversation } from "../harness/conversation.ts";
import { NotOffered } from "../harness/outcome.ts";
import type { Step } from "./step.ts";

export const model: Step = {
  name: "model",
  shows: "A session is switched to another of the models it offers, and the next request names another model.",
  limitMs: 120_000,
  async run(testbed) {
    const conversation = await startConversation(testbed);
    const { models, model: first, id } = conversation.session;
    if (models.length === 0) throw new NotOffered("no models");
    await conversation.expectEcho("with the first model");
    const named = await requested();
    // Tries the recipe's models first: the others may belong to a provider that cannot be reached.
    const isOurs = ({ id: name }: { readonly id: string }): number => Number(name.toLowerCase().includes("scripted"));
    const others = models.filter((choice) => choice.id !== first).sort((one, two) => isOurs(two) - isOurs(one));
    if (others.length === 0) throw new NotOffered(`only the model \`${first ?? models[0]?.id}\``);
    // Several names may stand for the same model, so up to four are tried.
    for (const other of others.slice(0, 4)) {
      await conversation.client.setSessionModel(id, other.id);
      await conversation.expectEcho(`with ${other.id}`);
      const now = await requested();
      if (now !== named) return `\`${first}\` to \`${other.id}\` (the request names \`${now}\`), of ${models.length}`;
    }
    throw new Error(`the requests still name ${named}, whatever was set`);

    async function requested(): Promise<string | undefined> {
      return (await testbed.model.newest("say"))?.model;
    }
  },
};
