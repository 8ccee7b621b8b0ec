import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../testing/until.ts";
import { transportErrorOf } from "./errors.ts";
import { startProxy, type TestProxy } from "./testing/proxy.ts";
import { startServer, type TestServer } from "./testing/server.ts";
import { connect, endpoint, openSession, prompt, type TestClient } from "./testing/session.ts";

/** A server with a small replay buffer, and a client that is disconnected while the server evicts events. */
let server: TestServer;
let proxy: TestProxy;
let url: string;
let disconnected: TestClient;
let sessionId: string;

beforeEach(async () => {
  server = await startServer({ args: ["--no-token", "--replay-events", "20", "--journal", "off"] });
  proxy = await startProxy(server.url);
  url = endpoint(proxy.url);
  disconnected = connect(url, { retry: { minMs: 10, maxMs: 20 } });
  sessionId = await openSession(disconnected);
  proxy.plan = ({ headers }) => (headers.accept === "text/event-stream" ? { drop: true } : {});
  proxy.cutStreams();
  await until("the stream to be cut", () => disconnected.events.some(({ type }) => type === "cut"));
});
afterEach(async () => {
  await disconnected.close();
  await proxy.stop();
  await server.stop();
});

const reconnect = (): void => {
  proxy.plan = () => ({});
};

/** How many client requests await the agent's response. */
async function pending(): Promise<number | undefined> {
  const list = (await (await fetch(`${server.url}/v1/acp`)).json()) as { servers: { pendingRequests: number }[] };
  return list.servers[0]?.pendingRequests;
}

/** How often a message with this text was posted, and under how many idempotency keys. */
async function posts(text: string): Promise<{ sent: number; keys: number }> {
  const sent = proxy.seen.filter(({ body }) => body.includes(text));
  return { sent: sent.length, keys: new Set(sent.map(({ headers }) => headers["idempotency-key"])).size };
}

const gaps = (): unknown[] => disconnected.events.filter(({ type }) => type === "gap");

describe("messages that the server has evicted", () => {
  test("are reported as a gap, and a response among them is requested again under its key", async () => {
    const turn = prompt(disconnected, sessionId, "stream 50");
    await until("the turn to be accepted", async () => (await posts("stream 50")).sent === 1);
    await until("the turn to end", async () => (await pending()) === 0);
    // Another client's traffic evicts that response, too.
    const other = connect(url.replace(proxy.url, server.url));
    await prompt(other, sessionId, "stream 51");
    reconnect();
    expect((await turn).stopReason).toBe("end_turn");
    expect(gaps()).toHaveLength(1);
    expect(await posts("stream 50")).toEqual({ sent: 2, keys: 1 });
    await other.detach();
  });

  test("do not end a turn that is still running", async () => {
    const turn = prompt(disconnected, sessionId, "forever");
    await until("the turn to be accepted", async () => (await pending()) === 1);
    const other = connect(url.replace(proxy.url, server.url));
    await prompt(other, await openSession(other), "stream 100");
    reconnect();
    await until("the client to receive more", () => disconnected.texts.some((text) => !text.startsWith("chunk")));
    expect(gaps()).toHaveLength(1);
    await until("the prompt to be posted again", async () => (await posts("forever")).sent === 2);
    await disconnected.connection.agent.notify("session/cancel", { sessionId });
    expect((await turn).stopReason).toBe("cancelled");
    expect((await posts("forever")).keys).toBe(1);
    await other.detach();
  });

  test("fail pending requests if the server does not offer the list", async () => {
    const turn = prompt(disconnected, sessionId, "stream 100").catch(transportErrorOf);
    await until("the turn to be accepted", async () => (await posts("stream 100")).sent === 1);
    await until("the turn to end", async () => (await pending()) === 0);
    const other = connect(url.replace(proxy.url, server.url));
    await prompt(other, sessionId, "stream 51");
    proxy.plan = ({ path }) => (/\/acp$/.test(path) ? { answer: { status: 404 } } : {});
    expect(await turn).toMatchObject({ reason: "lost" });
    expect((await prompt(disconnected, sessionId, "echo on")).stopReason).toBe("end_turn");
    await other.detach();
  });

  test("do not include open agent requests: those are still delivered", async () => {
    const other = connect(url.replace(proxy.url, server.url), { replay: "none" }, (app) =>
      app.onRequest("session/request_permission", () => new Promise(() => {})),
    );
    const otherSession = await openSession(other);
    const turn = prompt(other, otherSession, "permission");
    await until("the agent request to arrive", async () => (await awaiting()) === 1);
    await prompt(other, sessionId, "stream 100");
    reconnect();
    // The disconnected client has no handler, so the SDK declines the request for it.
    expect((await turn).stopReason).toBe("end_turn");
    expect(other.texts.at(-1)).toContain("not given: the client answered with an error");
    await other.detach();
  });
});

/** How many agent requests are unanswered. */
async function awaiting(): Promise<number | undefined> {
  const list = (await (await fetch(`${server.url}/v1/acp`)).json()) as { servers: { awaiting: unknown[] }[] };
  return list.servers[0]?.awaiting.length;
}
