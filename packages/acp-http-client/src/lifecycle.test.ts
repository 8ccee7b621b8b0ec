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

/** The transport error that a call was rejected with. */
async function failure(call: Promise<unknown>): Promise<AcpTransportError | undefined> {
  return call.then(
    () => undefined,
    (error: unknown) => transportErrorOf(error),
  );
}

/** How often the event stream was requested. */
const streamRequests = (): number => proxy.seen.filter(({ headers }) => headers.accept === "text/event-stream").length;

/** True if the endpoint receives no request while another client connects, prompts and closes. */
async function staysQuiet(url: string): Promise<boolean> {
  const path = new URL(url).pathname;
  const requests = (): number => proxy.seen.filter((seen) => seen.path.startsWith(path)).length;
  const before = requests();
  const other = connect(endpoint(proxy.url), { retry: { minMs: 5 } });
  await prompt(other, await openSession(other), "stream 200");
  await other.close();
  return requests() === before;
}

describe("when the agent exits", () => {
  test("during a turn, the prompt fails with the agent's exit code, and the connection ends once", async () => {
    const url = endpoint(proxy.url);
    const acp = connect(url);
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
    expect(await staysQuiet(url)).toBe(true);
  });

  test("and the connection is cut at the same time, the client learns of the exit after one reconnect", async () => {
    proxy.plan = ({ method }) => (method === "GET" ? { cutAtEnd: true } : {});
    const url = endpoint(proxy.url);
    const acp = connect(url, { retry: { minMs: 5 } });
    const sessionId = await openSession(acp);
    await failure(prompt(acp, sessionId, "crash 3"));
    expect(await acp.transport.ended).toMatchObject({ reason: "exited", exit: { code: 3 } });
    expect(acp.events.filter(({ type }) => type === "cut")).toHaveLength(1);
    expect(await staysQuiet(url)).toBe(true);
  });

  test("a new connection restarts the agent under the same id and receives nothing of the previous process", async () => {
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

  test("a connection with replay all receives the exit and continues after it", async () => {
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

describe("when the server exits", () => {
  test("and comes back without the agent, the turn fails with a typed error", async () => {
    const url = endpoint(proxy.url);
    const acp = connect(url, { retry: { minMs: 10, maxMs: 100 } });
    const sessionId = await openSession(acp);
    const turn = failure(prompt(acp, sessionId, "forever"));
    await until("the turn to run", () => acp.texts.length > 2);
    await server.kill();
    server = await startServer({ port: server.port });
    const error = await turn;
    expect(error).toBeInstanceOf(AcpHttpError);
    expect(error).toMatchObject({ status: 404, code: "unknown_server" });
    expect(await failure(prompt(acp, sessionId, "echo late"))).toMatchObject({ code: "unknown_server" });
    expect(await staysQuiet(url)).toBe(true);
  });

  test("on SIGTERM, the turn fails with server_stopping", async () => {
    const acp = connect(endpoint(server.url));
    const sessionId = await openSession(acp);
    const turn = failure(prompt(acp, sessionId, "forever"));
    await until("the turn to run", () => acp.texts.length > 2);
    await server.stop();
    expect(await turn).toMatchObject({ code: "server_stopping", status: 503 });
    expect(await acp.transport.ended).toMatchObject({ reason: "exited" });
  });

  test("and another client has started a new agent under the id, the turn is lost and does not run there", async () => {
    const url = endpoint(proxy.url);
    const acp = connect(url, { retry: { minMs: 300, maxMs: 300 } });
    const sessionId = await openSession(acp);
    const turn = failure(prompt(acp, sessionId, "forever"));
    await until("the turn to run", () => acp.texts.length > 2);
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

  test("and does not come back, the client gives up after giveUpMs", async () => {
    const acp = connect(endpoint(proxy.url), { retry: { minMs: 5, maxMs: 20, giveUpMs: 200 } });
    const sessionId = await openSession(acp);
    const turn = failure(prompt(acp, sessionId, "forever"));
    await server.kill();
    await proxy.stop();
    expect(await turn).toMatchObject({ reason: "unreachable" });
    proxy = await startProxy(server.url);
  });
});

describe("the first request", () => {
  test("fails with the reason if the agent does not start", async () => {
    const acp = connect(endpoint(server.url, "broken"));
    expect(await failure(openSession(acp))).toMatchObject({ status: 502, code: "spawn_failed" });
    await acp.close();
  });

  test("fails if the agent is unknown, and the connection stays usable", async () => {
    const url = endpoint(proxy.url, "no-such-agent");
    const acp = connect(url);
    expect(await failure(openSession(acp))).toMatchObject({ status: 400, code: "unknown_agent" });
    expect(await failure(openSession(acp))).toMatchObject({ status: 400, code: "unknown_agent" });
    // The last request for the event stream may still be on its way when the refusal arrives.
    await staysQuiet(url);
    expect(await staysQuiet(url)).toBe(true);
    expect(streamRequests()).toBeLessThan(10);
    await acp.detach();
  });

  test("fails with a typed error if no agent is named", async () => {
    const acp = connect(endpoint(server.url).replace(/\?.*/, ""));
    expect(await failure(openSession(acp))).toMatchObject({ status: 400, code: "agent_required" });
    await acp.detach();
  });
});

describe("closing and detaching", () => {
  test("close() shuts the agent down and rejects every call with a typed error", async () => {
    const url = endpoint(server.url);
    const acp = connect(url);
    const turn = failure(prompt(acp, await openSession(acp), "forever"));
    await acp.close();
    expect(await turn).toMatchObject({ reason: "closed" });
    const list = (await (await fetch(`${server.url}/v1/acp`)).json()) as { servers: { serverId: string }[] };
    expect(list.servers.map(({ serverId }) => url.includes(`/${serverId}?`))).not.toContain(true);
    await acp.close();
  });

  test("detach() delivers what was written and leaves the agent running for the next client", async () => {
    const url = endpoint(server.url);
    const first = connect(url);
    const sessionId = await openSession(first);
    const turn = failure(prompt(first, sessionId, "slow 1"));
    await first.detach();
    expect(await turn).toMatchObject({ reason: "detached" });
    const second = connect(url, { lastEventId: first.transport.lastEventId });
    await until("the turn to continue", () => second.texts.length > 3);
    await prompt(second, "mock-session-1", "echo too early").catch(() => undefined);
    expect(second.events.filter(({ type }) => type === "gap")).toEqual([]);
    await second.close();
  });

  test("an aborted signal detaches immediately, even before the first message", async () => {
    const control = new AbortController();
    const acp = connect(endpoint(server.url), { signal: control.signal });
    const opening = failure(openSession(acp));
    control.abort();
    expect(await opening).toMatchObject({ reason: "detached" });
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
