import { existsSync } from "node:fs";
import { NotOffered } from "../harness/outcome.ts";
import { pathIn } from "../harness/stage.ts";
import { startTalk } from "../harness/talk.ts";
import type { Step } from "./step.ts";

export const reject: Step = {
  name: "reject",
  shows:
    "A command, or a file where the agent asks for those only, is rejected: nothing has happened, and the session lives.",
  limitMs: 120_000,
  async run(stage) {
    const { asksFor } = stage.agent;
    if (asksFor === "nothing") throw new NotOffered("it never asks");
    const talk = await startTalk(stage);
    talk.reply = "reject";
    const path = pathIn(stage, "rejected.txt");
    const { stopReason } = await talk.turn(asksFor === "edits" ? `write ${path} no` : `shell printf no > ${path}`);
    if (talk.asked.length === 0) throw new Error("no permission was asked for");
    if (existsSync(path)) throw new Error("it was done all the same");
    await talk.alive("still here");
    return stopReason === "end_turn" ? undefined : `the turn ends with \`${stopReason}\``;
  },
};
