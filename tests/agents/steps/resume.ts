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
    "The agent is killed in the middle of a turn; the turn fails at once, the client starts the agent again and goes on with the session by `session/resume` or `session/load`, and the model is told the former words.",
  limitMs: 240_000,
  async run(testbed) {
    // In a process of its own: what the model is told shall not depend on sessions before this one.
    await testbed.leave();
    const conversation = await startConversation(testbed);
    const created = Date.now();
    await conversation.expectEcho("before the kill");
    const before = await told(testbed, "before the kill");
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
    const after = await told(testbed, "after the kill");
    const { openedBy } = resumed;
    if (!abilities?.load && !abilities?.resume) {
      if (openedBy !== "replayed") throw new Error(`opened by ${openedBy}`);
      throw new NotOffered("neither `session/load` nor `session/resume`; the client told it the former turns");
    }
    if (openedBy !== "loaded" && openedBy !== "resumed") throw new Error(`refused; the session was ${openedBy}`);
    if (after <= before)
      throw new Error(`${openedBy}, but the model is told ${after} messages, and was told ${before}`);
    return openedBy === "loaded" ? "by `session/load`" : "by `session/resume`";
  },
};

/** How many messages of the user the model was told with this prompt. Agents make smaller requests on the side. */
async function told(testbed: Testbed, words: string): Promise<number> {
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

/** Waits for the clock to show another minute. */
async function anotherMinute(since: number): Promise<void> {
  const next = (Math.floor(since / MINUTE_MS) + 1) * MINUTE_MS;
  await until("the next minute", () => Date.now() > next + 500, MINUTE_MS + 1_000);
}
