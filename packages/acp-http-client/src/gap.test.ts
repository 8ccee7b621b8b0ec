import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../testing/until.ts";
import { transportErrorOf } from "./errors.ts";
import { startProxy, type TestProxy } from "./testing/proxy.ts";
import { startServer, type TestServer } from "./testing/server.ts";
import { connect, endpoint, openSession, prompt, type TestClient } from "./testing/session.ts";

/** A server that forgets soon, and a client that is away while it does. */
let server: TestServer;
let proxy: TestProxy;
let url: string;
let away: TestClient;
let sessionId: string;

beforeEach(async () => {
  server = await startServer({ args: ["--no-token", "--replay-events", "20"] });
  proxy = await startProxy(server.url);
  url = endpoint(proxy.url);
  away = connect(url, { retry: { minMs: 10, maxMs: 20 } });
  sessionId = await openSession(away);
  proxy.plan = ({ headers }) => (headers.accept === "text/event-stream" ? { drop: true } : {});
  proxy.cutStreams();
  await until("the stream is cut", () => away.events.some(({ type }) => type === "cut"));
});
afterEach(async () => {
  await away.close();
  await proxy.stop();
  await server.stop();
});

const comeBack = (): void => {
  proxy.plan = () => ({});
};

/** How many requests wait for the agent. */
async function pending(): Promise<number | undefined> {
  const list = (await (await fetch(`${server.url}/v1/acp`)).json()) as { servers: { pendingRequests: number }[] };
  return list.servers[0]?.pendingRequests;
}

/** How often the agent was given a message that holds this text. */
async function posts(text: string): Promise<{ sent: number; keys: number }> {
  const sent = proxy.seen.filter(({ body }) => body.includes(text));
  return { sent: sent.length, keys: new Set(sent.map(({ headers }) => headers["idempotency-key"])).size };
}

const gaps = (): unknown[] => away.events.filter(({ type }) => type === "gap");

describe("messages that are gone", () => {
  test("are told as a gap, and an answer among them is asked for again under its key", async () => {
    const turn = prompt(away, sessionId, "stream 50");
    await until("the turn is taken", async () => (await posts("stream 50")).sent === 1);
    await until("the turn is over", async () => (await pending()) === 0);
    // Another client makes the server forget that answer too.
    const other = connect(url.replace(proxy.url, server.url));
    await prompt(other, sessionId, "stream 51");
    comeBack();
    expect((await turn).stopReason).toBe("end_turn");
    expect(gaps()).toHaveLength(1);
    expect(await posts("stream 50")).toEqual({ sent: 2, keys: 1 });
    await other.detach();
  });

  test("do not end a turn that still runs", async () => {
    const turn = prompt(away, sessionId, "forever");
    await until("the turn is taken", async () => (await pending()) === 1);
    const other = connect(url.replace(proxy.url, server.url));
    await prompt(other, await openSession(other), "stream 100");
    comeBack();
    await until("it hears on", () => away.texts.some((text) => !text.startsWith("chunk")));
    expect(gaps()).toHaveLength(1);
    await until("the turn was asked for again", async () => (await posts("forever")).sent === 2);
    await away.connection.agent.notify("session/cancel", { sessionId });
    expect((await turn).stopReason).toBe("cancelled");
    expect((await posts("forever")).keys).toBe(1);
    await other.detach();
  });

  test("fail what waits where the server does not tell what became of it", async () => {
    const turn = prompt(away, sessionId, "stream 100").catch(transportErrorOf);
    await until("the turn is taken", async () => (await posts("stream 100")).sent === 1);
    await until("the turn is over", async () => (await pending()) === 0);
    const other = connect(url.replace(proxy.url, server.url));
    await prompt(other, sessionId, "stream 51");
    proxy.plan = ({ path }) => (/\/acp$/.test(path) ? { answer: { status: 404 } } : {});
    expect(await turn).toMatchObject({ reason: "lost" });
    expect((await prompt(away, sessionId, "echo on")).stopReason).toBe("end_turn");
    await other.detach();
  });

  test("take along no question: one that is open comes all the same", async () => {
    const other = connect(url.replace(proxy.url, server.url), { replay: "none" }, (app) =>
      app.onRequest("session/request_permission", () => new Promise(() => {})),
    );
    const otherSession = await openSession(other);
    const turn = prompt(other, otherSession, "permission");
    await until("it is asked", async () => (await awaiting()) === 1);
    await prompt(other, sessionId, "stream 100");
    comeBack();
    // The client that was away has no handler, so the SDK declines in its name.
    expect((await turn).stopReason).toBe("end_turn");
    expect(other.texts.at(-1)).toContain("not given: the client answered with an error");
    await other.detach();
  });
});

/** How many requests of the agent nobody has answered. */
async function awaiting(): Promise<number | undefined> {
  const list = (await (await fetch(`${server.url}/v1/acp`)).json()) as { servers: { awaiting: unknown[] }[] };
  return list.servers[0]?.awaiting.length;
}
