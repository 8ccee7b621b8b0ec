import { startConversation } from "../harness/conversation.ts";
import { NotOffered } from "../harness/outcome.ts";
import type { Step } from "./step.ts";

export const mode: Step = {
  name: "mode",
  shows: "A session is switched to another of the modes it offers, answers a prompt in it, and is switched back.",
  limitMs: 120_000,
  async run(testbed) {
    const conversation = await startConversation(testbed);
    const { modes, mode: first, id } = conversation.session;
    if (modes.length === 0) throw new NotOffered("no modes");
    const other = modes.find((choice) => choice.id !== first);
    if (!other || first === undefined) throw new NotOffered(`only the mode \`${first ?? modes[0]?.id}\``);
    for (const wanted of [other.id, first]) {
      await conversation.client.setSessionMode(id, wanted);
      await conversation.expectEcho(`in mode ${wanted}`);
      const now = (await conversation.client.listSessions()).find((known) => known.id === id)?.mode;
      if (now !== wanted) throw new Error(`set to ${wanted}, it is in ${now}`);
    }
    return `\`${first}\` to \`${other.id}\` and back, of ${modes.length}`;
  },
};
