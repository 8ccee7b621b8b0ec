import { existsSync } from "node:fs";
import { NotOffered } from "../harness/outcome.ts";
import { pathIn } from "../harness/stage.ts";
import { startTalk } from "../harness/talk.ts";
import type { Step } from "./step.ts";

export const host: Step = {
  name: "host",
  shows: "A client that offers files and terminals: the agent's requests for them reach it and are answered.",
  limitMs: 120_000,
  async run(stage) {
    const client = stage.newClient("files and terminals");
    try {
      await client.connect();
      const from = stage.journal.entries.length;
      const talk = await startTalk(stage, client);
      const [ran, wrote] = [pathIn(stage, "ran-by-host.txt"), pathIn(stage, "written-by-host.txt")];
      const command = await talk.turn(`shell printf done > ${ran}`);
      if (!existsSync(ran)) throw new Error(`the command has not run; the agent said "${command.text.slice(0, 300)}"`);
      const write = await talk.turn(`write ${wrote} done`);
      if (!existsSync(wrote)) throw new Error(`the file is not there; the agent said "${write.text.slice(0, 300)}"`);
      const read = await talk.turn(`read ${wrote}`);
      if (!read.text.includes("done")) throw new Error(`asked to read it, the agent said "${read.text.slice(0, 300)}"`);
      const requests = stage.journal.messages(client.connection?.serverId ?? "", from).flatMap(({ type, message }) => {
        const isHosts = type === "message" && /^(fs|terminal)\//.test(message.method ?? "");
        return isHosts ? [message.method ?? ""] : [];
      });
      if (requests.length === 0) throw new NotOffered("it does all by itself");
      return [...new Set(requests)].map((method) => `\`${method}\``).join(", ");
    } finally {
      await client.dispose().catch(() => {});
    }
  },
};
