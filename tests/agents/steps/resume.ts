import { NotOffered } from "../harness/outcome.ts";
import { AgentExitedError } from "../harness/sdk.ts";
import type { Stage } from "../harness/stage.ts";
import { follow, startSlowTurn, startTalk, TURN_MS } from "../harness/talk.ts";
import { pause, until, within } from "../harness/waiting.ts";
import type { Step } from "./step.ts";

const MINUTE_MS = 60_000;

export const resume: Step = {
  name: "resume",
  shows:
    "The agent is killed in the middle of a turn; the turn fails at once, the client starts the agent again and goes on with the session by `session/resume` or `session/load`, and the model is told the former words.",
  limitMs: 240_000,
  async run(stage) {
    // In a process of its own: what the model is told shall not depend on sessions before this one.
    await stage.leave();
    const talk = await startTalk(stage);
    const created = Date.now();
    await talk.alive("before the kill");
    const before = await told(stage, "before the kill");
    const { client, session } = talk;
    const { abilities, serverId } = client.connection ?? {};
    const { result } = await startSlowTurn(stage, talk, 60);
    await kill(stage, serverId ?? "");
    const error = await within(
      "the turn to fail",
      10_000,
      result.then(notFailed, (thrown: unknown) => thrown),
    );
    if (!(error instanceof AgentExitedError)) throw new Error(`the turn failed with ${error}`);
    await until("the client to have noticed", 10_000, () => client.status === "disconnected");
    if (stage.agent.loadsInAnotherMinute) await anotherMinute(created);
    const resumed = await within("the session to be resumed", TURN_MS, client.resumeSession(session.id));
    const again = follow(client, resumed);
    await again.alive("after the kill");
    const after = await told(stage, "after the kill");
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
async function told(stage: Stage, words: string): Promise<number> {
  const requests = (await stage.model.requests()).filter(({ prompt }) => prompt?.includes(words));
  return Math.max(0, ...requests.map(({ messages }) => messages));
}

function notFailed(): never {
  throw new Error("the turn ended well, though its agent was killed");
}

async function kill(stage: Stage, serverId: string): Promise<void> {
  const instance = (await stage.instances()).find((listed) => listed.serverId === serverId);
  if (instance?.pid === undefined) throw new Error("the server does not list the agent's process");
  process.kill(instance.pid, "SIGKILL");
}

/** Waits for the clock to show another minute. */
async function anotherMinute(since: number): Promise<void> {
  const next = (Math.floor(since / MINUTE_MS) + 1) * MINUTE_MS;
  await pause(Math.max(0, next - Date.now()) + 500);
}
