import { until, within } from "../../../packages/testing/until.ts";
import { follow, startConversation, startSlowTurn, TURN_MS } from "../harness/conversation.ts";
import { NotOffered } from "../harness/outcome.ts";
import { AgentExitedError } from "../harness/sdk.ts";
import type { Testbed } from "../harness/testbed.ts";
import type { Step } from "./step.ts";

const MINUTE_MS = 60_000;

export const resume: Step = {
  name: "resume",
  shows:
    "The agent is killed during a turn; the turn fails, the client restarts the agent and continues the session by `session/resume` or `session/load`, and the model receives the former messages.",
  limitMs: 240_000,
  async run(testbed) {
    // Starts a new process of the agent, so that what it sends to the model does not depend on earlier sessions.
    await testbed.leave();
    const conversation = await startConversation(testbed);
    const created = Date.now();
    await conversation.expectEcho("before the kill");
    const before = await userMessages(testbed, "before the kill");
    const { client, session } = conversation;
    const { abilities, serverId } = client.connection ?? {};
    const { result } = await startSlowTurn(testbed, conversation, 60);
    await kill(testbed, serverId ?? "");
    const error = await within(
      "the turn to fail",
      10_000,
      result.then(notFailed, (thrown: unknown) => thrown),
    );
    if (!(error instanceof AgentExitedError)) throw new Error(`the turn failed with ${error}`);
    await until("the client to have noticed", () => client.status === "disconnected", 10_000);
    if (testbed.agent.loadsInAnotherMinute) await anotherMinute(created);
    const resumed = await within("the session to be resumed", TURN_MS, client.resumeSession(session.id));
    const again = follow(client, resumed);
    await again.expectEcho("after the kill");
    const after = await userMessages(testbed, "after the kill");
    const { openedBy } = resumed;
    if (!abilities?.load && !abilities?.resume) {
      if (openedBy !== "replayed") throw new Error(`opened by ${openedBy}`);
      throw new NotOffered("neither `session/load` nor `session/resume`; the client replayed the former turns");
    }
    if (openedBy !== "loaded" && openedBy !== "resumed") throw new Error(`refused; the session was ${openedBy}`);
    if (after <= before)
      throw new Error(`${openedBy}, but the model received ${after} user messages, and ${before} before`);
    return openedBy === "loaded" ? "by `session/load`" : "by `session/resume`";
  },
};

/**
 * How many user messages the model received in a request with this prompt. Agents may send several such requests; the
 * one with the most messages counts.
 */
async function userMessages(testbed: Testbed, words: string): Promise<number> {
  const requests = (await testbed.model.requests()).filter(({ prompt }) => prompt?.includes(words));
  return Math.max(0, ...requests.map(({ messages }) => messages));
}

function notFailed(): never {
  throw new Error("the turn ended well, though its agent was killed");
}

async function kill(testbed: Testbed, serverId: string): Promise<void> {
  const instance = (await testbed.instances()).find((listed) => listed.serverId === serverId);
  if (instance?.pid === undefined) throw new Error("the server does not list the agent's process");
  process.kill(instance.pid, "SIGKILL");
}

/** Waits for the next minute of the clock. */
async function anotherMinute(since: number): Promise<void> {
  const next = (Math.floor(since / MINUTE_MS) + 1) * MINUTE_MS;
  await until("the next minute", () => Date.now() > next + 500, MINUTE_MS + 1_000);
}
