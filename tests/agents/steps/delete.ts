import { startConversation, startSlowTurn } from "../harness/conversation.ts";
import { descendantsOf, marked, type Process, survivors } from "../harness/processes.ts";
import type { Step } from "./step.ts";

/** The command of the daemon. Its unusual duration identifies the process. */
const SLEEP = "sleep 8642";

export const remove: Step = {
  name: "delete",
  shows:
    "DELETE is sent during a turn, after a tool has started a daemon. When the server responds, every process that the agent started has ended, whatever its parent.",
  limitMs: 120_000,
  async run(testbed) {
    await testbed.leave();
    // The client offers no terminals: a command that the client runs would not be a process of the agent.
    const client = testbed.newClient("nothing");
    await client.connect();
    const conversation = await startConversation(testbed, client);
    await conversation.turn(`shell setsid ${SLEEP} > /dev/null 2>&1 < /dev/null & echo started`);
    await startSlowTurn(testbed, conversation, 60);
    const family = await descendantsOf(testbed.server.pid);
    const known = await marked(testbed.environment.mark);
    if (family.length === 0) throw new Error("the server has no processes below it to begin with");
    const began = performance.now();
    await client.dispose();
    const tookMs = performance.now() - began;
    const server = (process: Process): boolean => process.pid === testbed.server.pid;
    const left = [
      ...(await survivors(family)),
      ...(await descendantsOf(testbed.server.pid)),
      ...(await survivors(known.filter((process) => !server(process)))),
      ...(await marked(testbed.environment.mark)).filter((process) => !server(process)),
    ];
    if (left.length > 0) {
      const names = new Set(left.map(({ pid, name, isZombie }) => `${name} (${pid}${isZombie ? ", zombie" : ""})`));
      throw new Error(`still there: ${[...names].join(", ")}`);
    }
    const instances = await testbed.instances();
    if (instances.length > 0) throw new Error(`still listed: ${instances.map(({ serverId }) => serverId).join(", ")}`);
    return `${family.length} processes, gone in ${(tookMs / 1000).toFixed(1)} s`;
  },
};
