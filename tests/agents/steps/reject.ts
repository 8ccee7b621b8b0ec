import { existsSync } from "node:fs";
import { startConversation } from "../harness/conversation.ts";
import { NotOffered } from "../harness/outcome.ts";
import { pathIn } from "../harness/testbed.ts";
import type { Step } from "./step.ts";

export const reject: Step = {
  name: "reject",
  shows:
    "The agent requests permission for a command, or for a file if it never asks about commands. The client rejects it: nothing happens, and the session stays usable.",
  limitMs: 120_000,
  async run(testbed) {
    const { asksFor } = testbed.agent;
    if (asksFor === "nothing") throw new NotOffered("it never requests permissions");
    const conversation = await startConversation(testbed);
    conversation.reply = "reject";
    const path = pathIn(testbed, "rejected.txt");
    const { stopReason } = await conversation.turn(
      asksFor === "edits" ? `write ${path} no` : `shell printf no > ${path}`,
    );
    if (conversation.permissionRequests.length === 0) throw new Error("no permission was requested");
    if (existsSync(path)) throw new Error("the file was written although the client rejected it");
    await conversation.expectEcho("still here");
    return stopReason === "end_turn" ? undefined : `the turn ends with \`${stopReason}\``;
  },
};
