import { readFile } from "node:fs/promises";
import { startConversation } from "../harness/conversation.ts";
import { NotOffered } from "../harness/outcome.ts";
import { pathIn, type Testbed } from "../harness/testbed.ts";
import type { Step } from "./step.ts";

export const allow: Step = {
  name: "allow",
  shows:
    "The agent requests permission for a command and for a file. Both are granted: the command runs, and the file is written.",
  limitMs: 120_000,
  async run(testbed) {
    const conversation = await startConversation(testbed);
    const command = await conversation.turn(`shell printf allowed > ${pathIn(testbed, "allowed.txt")}`);
    await expectFile(testbed, "allowed.txt", "allowed", command.text);
    const commandRequests = conversation.permissionRequests.length;
    const write = await conversation.turn(`write ${pathIn(testbed, "written.txt")} some words`);
    await expectFile(testbed, "written.txt", "some words", write.text);
    const fileRequests = conversation.permissionRequests.length - commandRequests;
    const { asksFor } = testbed.agent;
    const wants = {
      shell: asksFor !== "edits" && asksFor !== "nothing",
      edits: asksFor !== "shell" && asksFor !== "nothing",
    };
    if (wants.shell && commandRequests === 0) throw new Error("the command ran, but no permission was requested");
    if (wants.edits && fileRequests === 0) throw new Error("the file was written, but no permission was requested");
    if (asksFor === "nothing") throw new NotOffered("it runs its tools without permission; both have run");
    if (commandRequests === 0) return "requests permissions for files only";
    if (fileRequests === 0) return "requests permissions for commands only";
    return undefined;
  },
};

async function expectFile(testbed: Testbed, name: string, wanted: string, reply: string): Promise<void> {
  const text = await readFile(pathIn(testbed, name), "utf8").catch(() => undefined);
  if (text?.trim() === wanted) return;
  throw new Error(`${name} contains ${JSON.stringify(text)}; the agent sent "${reply.slice(0, 300)}"`);
}
