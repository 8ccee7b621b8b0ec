import { existsSync } from "node:fs";
import { startConversation } from "../harness/conversation.ts";
import { NotOffered } from "../harness/outcome.ts";
import { pathIn } from "../harness/testbed.ts";
import type { Step } from "./step.ts";

export const host: Step = {
  name: "host",
  shows:
    "A client that offers files and terminals: the agent's file and terminal requests reach the client and are answered.",
  limitMs: 120_000,
  async run(testbed) {
    const client = testbed.newClient("files and terminals");
    try {
      await client.connect();
      const from = testbed.journal.entries.length;
      const conversation = await startConversation(testbed, client);
      const [ran, wrote] = [pathIn(testbed, "ran-by-host.txt"), pathIn(testbed, "written-by-host.txt")];
      const command = await conversation.turn(`shell printf done > ${ran}`);
      if (!existsSync(ran)) throw new Error(`the command has not run; the agent sent "${command.text.slice(0, 300)}"`);
      const write = await conversation.turn(`write ${wrote} done`);
      if (!existsSync(wrote)) throw new Error(`the file is not there; the agent sent "${write.text.slice(0, 300)}"`);
      const read = await conversation.turn(`read ${wrote}`);
      if (!read.text.includes("done"))
        throw new Error(`the agent did not return its content but sent "${read.text.slice(0, 300)}"`);
      const requests = testbed.journal
        .messages(client.connection?.serverId ?? "", from)
        .flatMap(({ type, message }) => {
          const isHosts = type === "message" && /^(fs|terminal)\//.test(message.method ?? "");
          return isHosts ? [message.method ?? ""] : [];
        });
      if (requests.length === 0) throw new NotOffered("it does everything itself");
      return [...new Set(requests)].map((method) => `\`${method}\``).join(", ");
    } finally {
      await client.dispose().catch(() => {});
    }
  },
};
