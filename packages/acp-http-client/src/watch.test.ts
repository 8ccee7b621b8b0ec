import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { seeded } from "../../testing/random.ts";
import { until } from "../../testing/until.ts";
import { startProxy, type TestProxy } from "./testing/proxy.ts";
import { startServer, type TestServer } from "./testing/server.ts";
import { connect, endpoint, openSession, prompt } from "./testing/session.ts";
import { type WatchedEvent, type WatchOptions, watchAcp, watchAcpServers } from "./watch.ts";

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

/** Collects events in the background until it is stopped or the watch ends. */
function collect(open: (options: WatchOptions) => AsyncGenerator<WatchedEvent>): {
  events: WatchedEvent[];
  stop(): Promise<void>;
  done: Promise<void>;
} {
  const control = new AbortController();
  const events: WatchedEvent[] = [];
  const done = (async () => {
    for await (const event of open({ signal: control.signal, retry: { minMs: 2, maxMs: 20 } })) events.push(event);
  })();
  return {
    events,
    done,
    stop: async () => {
      control.abort();
      await done;
    },
  };
}

const methodOf = ({ data }: WatchedEvent): string => (data as { method?: string }).method ?? "answer";

describe("watching one instance", () => {
  test("sends nothing but GET requests", async () => {
    const url = endpoint(server.url);
    const acp = connect(url, {}, (app) => app.onRequest("session/request_permission", () => new Promise(() => {})));
    const sessionId = await openSession(acp);
    const watch = collect((options) => watchAcp(url.replace(server.url, proxy.url), options));
    void prompt(acp, sessionId, "permission").catch(() => undefined);
    await until("the agent request to arrive", () => watch.events.map(methodOf).includes("session/request_permission"));
    await watch.stop();
    expect(new Set(proxy.seen.map(({ method }) => method))).toEqual(new Set(["GET"]));
    const list = await (await fetch(`${server.url}/v1/acp`)).json();
    expect(list).toMatchObject({ servers: [{ awaiting: [{ id: 0 }] }] });
    await acp.close();
  });

  test("yields both directions in one order, with times, over any number of cuts, if the journal is watched", async () => {
    const url = endpoint(server.url);
    const acp = connect(url);
    const sessionId = await openSession(acp);
    const random = seeded(3);
    let cuts = 0;
    proxy.plan = () => (cuts++ < 25 ? { cutAfter: Math.floor(random() * 1500) } : {});
    const watch = collect((options) => watchAcp(url.replace(server.url, proxy.url), { ...options, view: "journal" }));
    await prompt(acp, sessionId, "stream 100");
    await prompt(acp, sessionId, "exit 5");
    await watch.done;
    const reference = collect((options) => watchAcp(url, { ...options, view: "journal" }));
    await reference.done;
    expect(cuts).toBeGreaterThan(20);
    expect(watch.events).toEqual(reference.events);
    const types = watch.events.map(({ type }) => type);
    expect(types.filter((type) => type === "sent")).toHaveLength(4);
    expect(types.at(-1)).toBe("exit");
    expect(watch.events.slice(0, 2).map(methodOf)).toEqual(["initialize", "answer"]);
    for (const { id, atMs } of watch.events) {
      expect(id).toMatch(/^j\d+$/);
      expect(Math.abs(Date.now() - (atMs ?? 0))).toBeLessThan(60_000);
    }
    expect(watch.events.find(({ type }) => type === "message")?.event).toBeGreaterThan(1e15);
    expect(watch.events.find(({ type }) => type === "sent")?.event).toBeUndefined();
  });

  test("ends when the agent exits, resumes from a cursor, and throws if there is no instance", async () => {
    const url = endpoint(server.url);
    const acp = connect(url);
    await prompt(acp, await openSession(acp), "exit 5");
    const all = collect((options) => watchAcp(url, options));
    await all.done;
    expect(all.events.at(-1)).toMatchObject({ type: "exit", data: { code: 5 } });
    const lastEventId = all.events[2]?.id;
    const rest = collect((options) => watchAcp(url, { ...options, lastEventId }));
    await rest.done;
    expect(rest.events).toEqual(all.events.slice(3));
    const ended = collect((options) => watchAcp(url, { ...options, lastEventId: all.events.at(-1)?.id }));
    await ended.done;
    expect(ended.events).toEqual([]);
    const nothing = collect((options) => watchAcp(endpoint(server.url), options));
    await expect(nothing.done).rejects.toMatchObject({ status: 404, code: "unknown_server" });
  });
});

describe("watching many instances", () => {
  test("reports the existing instances, those that open and close, and their messages", async () => {
    const before = connect(`${server.url}/v1/acp/before?agent=mock`);
    await openSession(before);
    let cuts = 0;
    proxy.plan = () => (cuts++ < 10 ? { cutAfter: 700 } : {});
    const watch = collect((options) => watchAcpServers(`${proxy.url}/v1/acp`, { ...options, view: "journal" }));
    const updates = (): WatchedEvent[] =>
      watch.events.filter((event) => event.serverId === "after" && methodOf(event) === "session/update");
    await until("the list of instances", () => watch.events[0]?.type === "instances");
    const after = connect(`${server.url}/v1/acp/after?agent=mock`);
    await prompt(after, await openSession(after), "stream 20");
    await until("all updates to arrive", () => updates().length >= 20);
    await after.close();
    await until("the instance to close", () => watch.events.some(({ type }) => type === "closed"));
    await watch.stop();
    expect(watch.events[0]?.data).toMatchObject({ servers: [{ serverId: "before" }] });
    expect(watch.events.findLast(({ type }) => type === "opened")).toMatchObject({ serverId: "after" });
    const numbered = watch.events.filter(({ id }) => id !== undefined).map(({ id }) => Number(id?.slice(1)));
    expect(numbered).toEqual([...new Set(numbered)].sort((one, other) => one - other));
    expect(updates()[0]).toMatchObject({ type: "message", event: expect.any(Number), atMs: expect.any(Number) });
    expect(watch.events.some(({ type, serverId }) => type === "sent" && serverId === "after")).toBe(true);
    await before.close();
  });

  test("can be limited to some instances", async () => {
    const [one, other] = ["one", "other"].map((id) => connect(`${server.url}/v1/acp/${id}?agent=mock`));
    const watch = collect((options) => watchAcpServers(`${server.url}/v1/acp`, { ...options, servers: ["one"] }));
    if (one) await openSession(one);
    if (other) await openSession(other);
    await until("the text to arrive", () => watch.events.filter(({ serverId }) => serverId === "one").length >= 3);
    await watch.stop();
    expect(watch.events.filter(({ serverId }) => serverId === "other")).toEqual([]);
    await Promise.all([one?.close(), other?.close()]);
  });
});
