import { readFile } from "node:fs/promises";
import { startConversation } from "../harness/conversation.ts";
import { NotOffered } from "../harness/outcome.ts";
import { pathIn, type Testbed } from "../harness/testbed.ts";
import type { Step } from "./step.ts";

export const allow: Step = {
  name: "allow",
  shows: "A command and a file: the agent asks, is allowed to, and the command has run and the file is there.",
  limitMs: 120_000,
  async run(testbed) {
    const conversation = await startConversation(testbed);
    const command = await conversation.turn(`shell printf allowed > ${pathIn(testbed, "allowed.txt")}`);
    await expectFile(testbed, "allowed.txt", "allowed", command.text);
    const askedForCommand = conversation.permissionRequests.length;
    const write = await conversation.turn(`write ${pathIn(testbed, "written.txt")} some words`);
    await expectFile(testbed, "written.txt", "some words", write.text);
    const askedForFile = conversation.permissionRequests.length - askedForCommand;
    const { asksFor } = testbed.agent;
    const wants = {
      shell: asksFor !== "edits" && asksFor !== "nothing",
      edits: asksFor !== "shell" && asksFor !== "nothing",
    };
    if (wants.shell && askedForCommand === 0) throw new Error("the command ran, but no permission was asked for");
    if (wants.edits && askedForFile === 0) throw new Error("the file was written, but no permission was asked for");
    if (asksFor === "nothing") throw new NotOffered("it runs its tools without asking; both have run");
    if (askedForCommand === 0) return "asks for files only";
    if (askedForFile === 0) return "asks for commands only";
    return undefined;
  },
};

async function expectFile(testbed: Testbed, name: string, wanted: string, said: string): Promise<void> {
  const text = await readFile(pathIn(testbed, name), "utf8").catch(() => undefined);
  if (text?.trim() === wanted) return;
  throw new Error(`${name} holds ${JSON.stringify(text)}; the agent said "${said.slice(0, 300)}"`);
}
