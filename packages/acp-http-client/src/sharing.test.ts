import { type ClientApp, methods } from "@agentclientprotocol/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seeded, shuffled } from "../../testing/random.ts";
import { until } from "../../testing/until.ts";
import { startProxy, type TestProxy } from "./testing/proxy.ts";
import { startServer, type TestServer } from "./testing/server.ts";
import { connect, endpoint, openSession, prompt } from "./testing/session.ts";

const QUESTION = "_sandboxagent/session/request_question";

let server: TestServer;
let proxy: TestProxy;

beforeAll(async () => {
  server = await startServer({
    args: ["--no-token", "--agent", `scripted=${process.execPath} ${import.meta.dirname}/testing/scripted-agent.mjs`],
  });
  proxy = await startProxy(server.url);
});
afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

/** Holds agent requests until the test answers them. */
function holdRequests(): { open: (() => void)[]; aborted: number; prepare: (app: ClientApp) => ClientApp } {
  const held = { open: [] as (() => void)[], aborted: 0, prepare: (app: ClientApp) => app };
  const hold = <Answer>(signal: AbortSignal, answer: Answer): Promise<Answer> => {
    signal.addEventListener("abort", () => {
      held.aborted += 1;
    });
    return new Promise((resolve) => held.open.push(() => resolve(answer)));
  };
  held.prepare = (app) =>
    app
      .onRequest(methods.client.session.requestPermission, ({ signal }) =>
        hold(signal, { outcome: { outcome: "selected", optionId: "allow-once" } as const }),
      )
      .onRequest(
        QUESTION,
        (params) => params,
        ({ signal }) => hold(signal, { status: "answered", answers: [["option-a"]] }),
      );
  return held;
}

describe("two clients of one instance", () => {
  test("each receive their own responses, and both receive all notifications", async () => {
    const url = endpoint(server.url);
    const [one, other] = [connect(url), connect(url)];
    const sessions = [await openSession(one), await openSession(other)];
    expect(new Set(sessions).size).toBe(2);
    const turns = Array.from({ length: 20 }, (_, turn) => `turn ${turn}`);
    const work = async (client: typeof one, sessionId: string | undefined, who: string): Promise<void> => {
      for (const turn of turns) {
        const { stopReason } = await prompt(client, sessionId ?? "", `echo ${who} ${turn}`);
        expect(stopReason).toBe("end_turn");
      }
    };
    await Promise.all([work(one, sessions[0], "one"), work(other, sessions[1], "other")]);
    const all = ["one", "other"].flatMap((who) => turns.map((turn) => `${who} ${turn}`)).sort();
    await until("both clients to receive everything", () => one.texts.length === 40 && other.texts.length === 40);
    expect([...one.texts].sort()).toEqual(all);
    expect(other.texts).toEqual(one.texts);
    await other.detach();
    await one.close();
  });

  test("an agent request that one of them answers is cancelled for the other and answered once", async () => {
    const url = endpoint(proxy.url);
    const [first, second] = [holdRequests(), holdRequests()];
    const one = connect(url, {}, first.prepare);
    const sessionId = await openSession(one);
    const other = connect(url, {}, second.prepare);
    const turn = prompt(one, sessionId, "permission");
    await until("both clients to receive the request", () => first.open.length === 1 && second.open.length === 1);
    second.open[0]?.();
    await turn;
    expect(one.texts).toEqual(["Permission granted with allow-once."]);
    await until("the other client's handler to be cancelled", () => first.aborted === 1);
    expect(one.events).toContainEqual(expect.objectContaining({ type: "answered" }));
    const before = proxy.seen.length;
    first.open[0]?.();
    await prompt(one, sessionId, "echo next");
    expect(proxy.seen.slice(before).filter(({ body }) => body.includes("allow-once"))).toEqual([]);
    expect(second.aborted).toBe(0);
    await other.detach();
    await one.close();
  });
});

describe("many agent requests at once", () => {
  test.each(["permissions", "questions"])(
    "1,000 %s are answered in random order",
    { timeout: 60_000 },
    async (what) => {
      const held = holdRequests();
      const acp = connect(endpoint(server.url), {}, held.prepare);
      const sessionId = await openSession(acp);
      const turn = prompt(acp, sessionId, `${what} 1000`);
      await until("all requests to arrive", () => held.open.length === 1000, 30_000);
      for (const answer of shuffled(held.open, seeded(7))) answer();
      expect((await turn).stopReason).toBe("end_turn");
      expect(acp.texts.at(-1)).toBe(`All 1000 ${what} are answered.`);
      const answered = acp.texts.filter((text) => /granted with allow-once|answered: option-a/.test(text));
      expect(answered).toHaveLength(1000);
      expect(acp.events.filter(({ type }) => type === "undelivered")).toEqual([]);
      await acp.close();
    },
  );
});

describe("a client that connects later", () => {
  test("receives the open request and what is new, but nothing of the past", async () => {
    const url = endpoint(server.url);
    const [first, second] = [holdRequests(), holdRequests()];
    const one = connect(url, {}, first.prepare);
    const sessionId = await openSession(one);
    await prompt(one, sessionId, "echo past");
    const answeredTurn = prompt(one, sessionId, "question");
    await until("the agent request to arrive", () => first.open.length === 1);
    first.open[0]?.();
    await answeredTurn;
    const turn = prompt(one, sessionId, "permission");
    await until("the request to arrive again", () => first.open.length === 2);

    const other = connect(url, {}, second.prepare);
    await until("the later client to receive the request", () => second.open.length === 1);
    second.open[0]?.();
    await turn;
    await until("the agent's reply to arrive", () => other.texts.length > 0);
    expect(other.texts).toEqual(["Permission granted with allow-once."]);
    expect(second.open).toHaveLength(1);
    expect(other.events.filter(({ type }) => type === "gap")).toEqual([]);
    await other.detach();
    await one.close();
  });

  test.each([
    ["all", ["past", "new"]],
    ["none", ["new"]],
    ["open", ["new"]],
  ] as const)("with replay %s receives %j", async (replay, expected) => {
    const url = endpoint(server.url);
    const one = connect(url);
    const sessionId = await openSession(one);
    await prompt(one, sessionId, "echo past");
    const other = connect(url, { replay });
    await until("the client to connect", () => other.events.some(({ type }) => type === "open"));
    await prompt(one, sessionId, "echo new");
    await until("the text to arrive", () => other.texts.includes("new"));
    expect(other.texts).toEqual(expected);
    await other.detach();
    await one.close();
  });

  test("with replay all receives no answered agent requests", async () => {
    const url = endpoint(server.url);
    const [first, second] = [holdRequests(), holdRequests()];
    const one = connect(url, {}, first.prepare);
    const sessionId = await openSession(one);
    const turn = prompt(one, sessionId, "permissions 20");
    await until("the agent request to arrive", () => first.open.length === 20);
    for (const answer of first.open) answer();
    await turn;
    const other = connect(url, { replay: "all" }, second.prepare);
    await until("the past to arrive", () => other.texts.length === 21);
    expect(second.open).toEqual([]);
    await other.detach();
    await one.close();
  });

  test("resumes where it stopped and receives open requests again", async () => {
    const url = endpoint(server.url);
    const [first, second] = [holdRequests(), holdRequests()];
    const one = connect(url, {}, first.prepare);
    const sessionId = await openSession(one);
    await prompt(one, sessionId, "echo past");
    void prompt(one, sessionId, "permission").catch(() => undefined);
    await until("the agent request to arrive", () => first.open.length === 1);
    await one.detach();
    const other = connect(url, { lastEventId: one.transport.lastEventId }, second.prepare);
    await until("the request to arrive again", () => second.open.length === 1);
    second.open[0]?.();
    await until("the text to arrive", () => other.texts.length === 1);
    expect(other.texts).toEqual(["Permission granted with allow-once."]);
    await other.close();
  });

  test("receives what is new even if the server does not offer the list", async () => {
    proxy.plan = ({ path }) => (/\/acp$/.test(path) ? { answer: { status: 404 } } : {});
    const url = endpoint(proxy.url);
    const one = connect(url);
    const sessionId = await openSession(one);
    await prompt(one, sessionId, "echo past");
    const other = connect(url);
    await prompt(other, sessionId, "echo new");
    expect(other.texts).toEqual(["new"]);
    await until("the first client to receive it, too", () => one.texts.length === 2);
    proxy.plan = () => ({});
    await other.detach();
    await one.close();
  });
});

describe("wire ids", () => {
  test("are translated in cancellations and in elicitations that refer to a request", async () => {
    const received: unknown[] = [];
    const acp = connect(endpoint(server.url, "scripted"), {}, (app) =>
      app.onRequest("*", ({ method, params }) => {
        received.push([method, params]);
        return { action: "decline" };
      }),
    );
    const { agent } = acp.connection;
    const { id } = await agent.request<{ id: string }>("ids", {});
    expect(id).toMatch(/^[0-9a-f]{12}-0$/);
    const cancel = new AbortController();
    const never = agent.request("never", {}, { cancellationSignal: cancel.signal });
    cancel.abort();
    await expect(never).rejects.toMatchObject({ code: -32800 });
    const { cancelled } = await agent.request<{ cancelled: string[] }>("ids", {});
    expect(cancelled).toEqual([id.replace(/0$/, "1")]);
    await agent.request("elicit", {});
    // The client receives the SDK's own id of the request. It is 3, because the SDK counts from 0.
    await until("the elicitation to arrive", () => received.length === 1);
    expect(received).toEqual([["elicitation/create", { requestId: 3, mode: "form", message: "?" }]]);
    await acp.close();
  });
});
