import { descendantsOf, memoryOf } from "../harness/processes.ts";
import { startTalk } from "../harness/talk.ts";
import type { Step } from "./step.ts";

export const session: Step = {
  name: "session",
  shows: "`session/new` opens a session.",
  limitMs: 60_000,
  async run(stage) {
    await startTalk(stage);
    stage.measured.memoryBytes = await memoryOf(await descendantsOf(stage.server.pid));
  },
};
