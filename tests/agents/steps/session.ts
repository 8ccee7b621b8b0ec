import { startConversation } from "../harness/conversation.ts";
import { descendantsOf, memoryOf } from "../harness/processes.ts";
import type { Step } from "./step.ts";

export const session: Step = {
  name: "session",
  shows: "`session/new` opens a session.",
  limitMs: 60_000,
  async run(testbed) {
    await startConversation(testbed);
    testbed.measurements.memoryBytes = await memoryOf(await descendantsOf(testbed.server.pid));
  },
};
