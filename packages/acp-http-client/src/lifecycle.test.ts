import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../../testing/until.ts";
import { AcpExitError, AcpHttpError, type AcpTransportError, transportErrorOf } from "./errors.ts";
import { startProxy, type TestProxy } from "./testing/proxy.ts";
import { startServer, type TestServer } from "./testing/server.ts";
import { connect, endpoint, openSession, prompt } from "./testing/session.ts";

let server: TestServer;
let proxy: TestProxy;

beforeEach(async () => {
  server = await startServer({ args: ["--no-token", "--agent", "broken=/nonexistent/agent"] });
  proxy = await startProxy(server.url);
});
afterEach(async () => {
  await proxy.stop();
  await server.stop();
});

/** The transport's error that a call was rejected with. */
async function failure(call: Promise<unknown>): Promise<AcpTransportError | undefined> {
  return call.then(
    () => undefined,
    (error: unknown) => transportErrorOf(error),
  );
}

/** How often the event stream was asked for. */
const streamsAsked = (): number => proxy.seen.filter(({ headers }) => headers.accept === "text/event-stream").length;

/** Nothing more comes for a while: the only way to show an absence. */
async function staysQuiet(): Promise<boolean> {
  const before = proxy.seen.length;
  await new Promise((resolve) => setTimeout(resolve, 400));
  return proxy.seen.length === before;
}

describe("when the agent ends", () => {
  test("in the middle of a turn, the prompt fails at once with how it ended, and the connection ends once", async () => {
    const acp = connect(endpoint(proxy.url));
    const sessionId = await openSession(acp);
    const error = await failure(prompt(acp, sessionId, "crash 3"));
    expect(error).toBeInstanceOf(AcpHttpError);
    expect(error).toMatchObject({ status: 502, code: "agent_exited", problem: { exitCode: 3 } });
    const ended = await acp.transport.ended;
    expect(ended).toBeInstanceOf(AcpExitError);
    expect(ended).toMatchObject({ reason: "exited", exit: { code: 3, stderrTail: expect.stringContaining("crash") } });
    await acp.connection.closed;
    expect(acp.connection.signal.reason).toBe(ended);
    expect(await failure(prompt(acp, sessionId, "echo late"))).toBe(ended);
    expect(await staysQuiet()).toBe(true);
  });

  test("and the connection is cut right then, the end is found out without a loop", async () => {
    proxy.plan = ({ method }) => (method === "GET" ? { cutAtEnd: true } : {});
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 5 } });
    const sessionId = await openSession(acp);
    await failure(prompt(acp, sessionId, "crash 3"));
    expect(await acp.transport.ended).toMatchObject({ reason: "exited", exit: { code: 3 } });
    expect(acp.events.filter(({ type }) => type === "cut")).toHaveLength(1);
    expect(await staysQuiet()).toBe(true);
  });

  test("a new connection starts it again under the same id and does not hear of its former life", async () => {
    const url = endpoint(server.url);
    const first = connect(url);
    await failure(prompt(first, await openSession(first), "crash 3"));
    await first.transport.ended;
    const second = connect(url);
    const sessionId = await openSession(second);
    await prompt(second, sessionId, "echo reborn");
    expect(second.texts).toEqual(["reborn"]);
    expect(second.events.filter(({ type }) => type === "exit" || type === "gap")).toEqual([]);
    await second.close();
  });

  test("a connection with all of the past hears of the end and goes on behind it", async () => {
    const url = endpoint(server.url);
    const first = connect(url);
    const firstSession = await openSession(first);
    await prompt(first, firstSession, "echo before");
    await failure(prompt(first, firstSession, "crash 3"));
    await first.transport.ended;
    const second = connect(url, { replay: "all" });
    const sessionId = await openSession(second);
    await prompt(second, sessionId, "echo after");
    expect(second.texts).toEqual(["before", "I am about to crash.", "after"]);
    expect(second.events.filter(({ type }) => type === "exit")).toHaveLength(1);
    await second.close();
  });
});

describe("when the server goes away", () => {
  test("and is back without the agent, the turn fails at once with a typed error", async () => {
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 10, maxMs: 100 } });
    const sessionId = await openSession(acp);
    const turn = failure(prompt(acp, sessionId, "forever"));
    await until("the turn runs", () => acp.texts.length > 2);
    await server.kill();
    server = await startServer({ port: server.port });
    const error = await turn;
    expect(error).toBeInstanceOf(AcpHttpError);
    expect(error).toMatchObject({ status: 404, code: "unknown_server" });
    expect(await failure(prompt(acp, sessionId, "echo late"))).toMatchObject({ code: "unknown_server" });
    expect(await staysQuiet()).toBe(true);
  });

  test("in an orderly way, the turn is told so at once", async () => {
    const acp = connect(endpoint(server.url));
    const sessionId = await openSession(acp);
    const turn = failure(prompt(acp, sessionId, "forever"));
    await until("the turn runs", () => acp.texts.length > 2);
    await server.stop();
    expect(await turn).toMatchObject({ code: "server_stopping", status: 503 });
    expect(await acp.transport.ended).toMatchObject({ reason: "exited" });
  });

  test("and somebody else has made a new agent under the id, the turn is lost and not run there", async () => {
    const url = endpoint(proxy.url);
    const acp = connect(url, { retry: { minMs: 300, maxMs: 300 } });
    const sessionId = await openSession(acp);
    const turn = failure(prompt(acp, sessionId, "forever"));
    await until("the turn runs", () => acp.texts.length > 2);
    await server.kill();
    proxy.plan = () => ({ drop: true });
    server = await startServer({ port: server.port });
    const other = connect(url.replace(proxy.url, server.url));
    await openSession(other);
    proxy.plan = () => ({});
    expect(await turn).toMatchObject({ reason: "lost" });
    expect(acp.events).toContainEqual(expect.objectContaining({ type: "gap" }));
    expect(other.texts).toEqual([]);
    await other.close();
  });

  test("for good, the client gives up when it was told to", async () => {
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 5, maxMs: 20, giveUpMs: 200 } });
    const sessionId = await openSession(acp);
    const turn = failure(prompt(acp, sessionId, "forever"));
    await server.kill();
    await proxy.stop();
    expect(await turn).toMatchObject({ reason: "unreachable" });
    proxy = await startProxy(server.url);
  });
});

describe("an agent that does not start", () => {
  test("fails the first request with the reason", async () => {
    const acp = connect(endpoint(server.url, "broken"));
    expect(await failure(openSession(acp))).toMatchObject({ status: 502, code: "spawn_failed" });
    await acp.close();
  });

  test("because nobody knows it fails the first request, and the connection can be used for another", async () => {
    const acp = connect(endpoint(proxy.url, "nobody"));
    expect(await failure(openSession(acp))).toMatchObject({ status: 400, code: "unknown_agent" });
    expect(await failure(openSession(acp))).toMatchObject({ status: 400, code: "unknown_agent" });
    expect(await staysQuiet()).toBe(true);
    expect(streamsAsked()).toBeLessThan(10);
    await acp.detach();
  });

  test("because no agent is named is a typed error", async () => {
    const acp = connect(endpoint(server.url).replace(/\?.*/, ""));
    expect(await failure(openSession(acp))).toMatchObject({ status: 400, code: "agent_required" });
    await acp.detach();
  });
});

describe("the two ways to end", () => {
  test("close() ends the agent and every call with a typed error", async () => {
    const url = endpoint(server.url);
    const acp = connect(url);
    const turn = failure(prompt(acp, await openSession(acp), "forever"));
    await acp.close();
    expect(await turn).toMatchObject({ reason: "closed" });
    const list = (await (await fetch(`${server.url}/v1/acp`)).json()) as { servers: { serverId: string }[] };
    expect(list.servers.map(({ serverId }) => url.includes(`/${serverId}?`))).not.toContain(true);
    await acp.close();
  });

  test("detach() delivers what was written and leaves the agent at work for the next client", async () => {
    const url = endpoint(server.url);
    const first = connect(url);
    const sessionId = await openSession(first);
    const turn = failure(prompt(first, sessionId, "slow 1"));
    await first.detach();
    expect(await turn).toMatchObject({ reason: "detached" });
    const second = connect(url, { lastEventId: first.transport.lastEventId });
    await until("the turn goes on", () => second.texts.length > 3);
    await prompt(second, "mock-session-1", "echo too early").catch(() => undefined);
    expect(second.events.filter(({ type }) => type === "gap")).toEqual([]);
    await second.close();
  });

  test("an aborted signal detaches at once, also before anything was said", async () => {
    const control = new AbortController();
    const acp = connect(endpoint(server.url), { signal: control.signal });
    const hello = failure(openSession(acp));
    control.abort();
    expect(await hello).toMatchObject({ reason: "detached" });
    const late = connect(endpoint(server.url), { signal: control.signal });
    expect(await failure(openSession(late))).toMatchObject({ reason: "detached" });
  });

  test("closing the SDK's connection detaches", async () => {
    const acp = connect(endpoint(server.url));
    await openSession(acp);
    acp.connection.close();
    expect(await acp.transport.ended).toMatchObject({ reason: "detached" });
    expect((await (await fetch(`${server.url}/v1/acp`)).text()).includes('"status":"running"')).toBe(true);
  });
});
