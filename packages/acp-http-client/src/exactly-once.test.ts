import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { seeded } from "../../testing/random.ts";
import { until } from "../../testing/until.ts";
import { transportErrorOf } from "./errors.ts";
import { type Fault, type SeenRequest, startProxy, type TestProxy } from "./testing/proxy.ts";
import { startServer, type TestServer } from "./testing/server.ts";
import { connect, endpoint, openSession, prompt } from "./testing/session.ts";

let server: TestServer;
let proxy: TestProxy;

beforeEach(async () => {
  server = await startServer();
  proxy = await startProxy(server.url);
});
afterEach(async () => {
  await proxy.stop();
  await server.stop();
});

/** Cuts, delays and buffers event streams, and drops responses to POSTs, determined by the seed. */
function injectFaults(seed: number, cuts: number, meanBytes: number): { cuts: number } {
  const random = seeded(seed);
  const done = { cuts: 0 };
  proxy.plan = ({ method, headers }): Fault => {
    if (method === "POST") return random() < 0.3 ? { dropResponse: true } : {};
    if (headers.accept !== "text/event-stream") return {};
    const manner: Fault = random() < 0.2 ? { delayMs: 1 } : random() < 0.2 ? { bufferMs: 5 } : {};
    if (done.cuts >= cuts) return manner;
    done.cuts += 1;
    return { ...manner, cutAfter: 1 + Math.floor(random() * 2 * meanBytes) };
  };
  return done;
}

const chunks = (count: number): string[] => Array.from({ length: count }, (_, index) => `chunk ${index + 1} `);
const starts = (texts: string[]): string[] => texts.map((text) => /^chunk \d+ /.exec(text)?.[0] ?? text);

describe("a turn over an unreliable network", () => {
  test("of 10,000 events with 100 random cuts delivers every event once and in order", {
    timeout: 60_000,
  }, async () => {
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 5, maxMs: 50 } });
    const sessionId = await openSession(acp);
    const done = injectFaults(20261115, 100, 15_000);
    proxy.cutStreams();
    expect((await prompt(acp, sessionId, "stream 10000")).stopReason).toBe("end_turn");
    expect(starts(acp.texts)).toEqual(chunks(10_000));
    expect(done.cuts).toBe(100);
    expect(acp.events.filter(({ type }) => type === "cut").length).toBeGreaterThanOrEqual(100);
    expect(acp.events.filter(({ type }) => type === "gap")).toEqual([]);
    await acp.close();
  });

  test.each([1, 2, 3, 4, 5])("with frequent cuts delivers every event once and in order (seed %i)", async (seed) => {
    injectFaults(seed, 40, 3_000);
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 2, maxMs: 20 } });
    const sessionId = await openSession(acp);
    for (const text of ["stream 300", "noise", "stream 200 200"]) await prompt(acp, sessionId, text);
    const unparsed = acp.events.filter(({ type }) => type === "unparsed").length;
    expect(starts(acp.texts).filter((text) => text.startsWith("chunk"))).toEqual([...chunks(300), ...chunks(200)]);

    proxy.plan = () => ({});
    const reference = connect(endpoint(server.url));
    const referenceSession = await openSession(reference);
    await prompt(reference, referenceSession, "noise");
    expect(unparsed).toBe(reference.events.filter(({ type }) => type === "unparsed").length);
    expect(unparsed).toBeGreaterThan(0);
    await Promise.all([acp.close(), reference.close()]);
  });

  test("delivers messages of several megabytes intact", async () => {
    injectFaults(9, 10, 400_000);
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 5, maxMs: 50 } });
    const sessionId = await openSession(acp);
    await prompt(acp, sessionId, "big 3000000");
    expect(acp.texts.map((text) => text.length)).toEqual([3_000_000]);
    await acp.close();
  });
});

describe("a POST whose response is lost", () => {
  test("is repeated under its idempotency key and takes effect once", async () => {
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 5 } });
    const sessionId = await openSession(acp);
    let lost = 0;
    proxy.plan = ({ method }) => (method === "POST" && ++lost <= 3 ? { dropResponse: true } : {});
    await prompt(acp, sessionId, "echo once");
    expect(acp.texts).toEqual(["once"]);
    const prompts = (): SeenRequest[] => proxy.seen.filter(({ body }) => body.includes("echo once"));
    // The agent's response arrives on the event stream, possibly before the POST succeeds.
    await until("the POST to succeed", () => prompts().length === 4);
    expect(new Set(prompts().map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    await acp.close();
  });

  test("starts the agent once when it is the first POST", async () => {
    let lost = 0;
    proxy.plan = ({ method }) => (method === "POST" && ++lost <= 2 ? { dropResponse: true } : {});
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 5 } });
    const sessionId = await openSession(acp);
    expect(sessionId).toBe("mock-session-1");
    await acp.close();
  });

  test.each([
    ["a gateway's 502", { status: 502, body: "<html>" }],
    ["a gateway's 504", { status: 504 }],
    ["503", { status: 503 }],
    ["429", { status: 429, headers: { "retry-after": "0" } }],
  ])("is repeated after %s", async (_, answer) => {
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 5 } });
    const sessionId = await openSession(acp);
    let left = 2;
    proxy.plan = ({ method }) => (method === "POST" && left-- > 0 ? { answer } : {});
    await prompt(acp, sessionId, "echo again");
    expect(acp.texts).toEqual(["again"]);
    await acp.close();
  });

  test.each([
    [502, "agent_exited"],
    [502, "spawn_failed"],
    [502, "install_failed"],
    [503, "server_stopping"],
    [413, "payload_too_large"],
  ])("is not repeated after %i %s, which is final", async (status, code) => {
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 5 } });
    const sessionId = await openSession(acp);
    let posts = 0;
    const body = JSON.stringify({ type: `urn:test:${code}`, status });
    proxy.plan = ({ method }) => (method === "POST" && ++posts > 0 ? { answer: { status, body } } : {});
    const error = await prompt(acp, sessionId, "echo never").then(undefined, transportErrorOf);
    expect(error).toMatchObject({ status, code });
    expect(posts).toBe(1);
    await acp.close();
  });

  test("keeps its position: later messages wait for it", async () => {
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 5 } });
    await openSession(acp);
    let left = 3;
    proxy.plan = ({ body }) => (body.includes('"first"') && left-- > 0 ? { drop: true } : {});
    const before = proxy.seen.length;
    const names = ["first", "second", "third"];
    await Promise.allSettled(names.map((name) => acp.connection.agent.request(`_test/${name}`, { name })));
    const order = proxy.seen.slice(before).map(({ body }) => /_test\/(\w+)/.exec(body)?.[1] ?? "");
    expect(order.filter(Boolean)).toEqual(["first", "first", "first", "first", "second", "third"]);
    await acp.close();
  });
});

describe("a connection that delivers no data", () => {
  test("counts as cut and is reconnected", async () => {
    let left = 1;
    proxy.plan = ({ method, path }) =>
      method === "GET" && path.startsWith("/v1/acp/") && left-- > 0 ? { freezeAfter: 5 } : {};
    const acp = connect(endpoint(proxy.url), { silenceMs: 200 });
    await openSession(acp);
    const cut = acp.events.find(({ type }) => type === "cut");
    expect(cut).toMatchObject({ error: { message: "no data for 200 ms" } });
    await acp.close();
  });
});
