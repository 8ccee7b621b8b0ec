import { expect, it, onTestFinished } from "vitest";
import { seeded } from "../../testing/random.ts";
import { until } from "../../testing/until.ts";
import { type CuttingProxy, startCuttingProxy } from "./testing/cutting-proxy.ts";
import { collect, ofType } from "./testing/events.ts";
import { startTestServer, testClient } from "./testing/server.ts";

const quick = { minMs: 1, maxMs: 20 };

/** A proxy that is stopped when the test has finished. */
async function proxyTo(target: string): Promise<CuttingProxy> {
  const proxy = await startCuttingProxy(target);
  onTestFinished(proxy.stop);
  return proxy;
}

it("a turn of 10,000 events is received once and in order over 100 cuts", async () => {
  const server = await startTestServer();
  const proxy = await proxyTo(server.baseUrl);
  const client = testClient(server, { baseUrl: proxy.baseUrl, retry: quick });
  const { id } = await client.newSession({ directory: "/tmp" });
  const random = seeded(20_261_115);
  const words: string[] = [];
  let [cuts, nextCut] = [0, 50];
  client.onEvent((event) => {
    if (event.type !== "item.delta") return;
    words.push(...event.content.map((piece) => (piece.type === "text" ? piece.text : "")));
    if (words.length < nextCut || cuts === 100) return;
    cuts += 1;
    nextCut = words.length + 20 + Math.floor(random() * 60);
    proxy.cut();
  });
  const { stopReason, text } = await client.prompt(id, "stream 10000 24");
  expect(stopReason).toBe("end_turn");
  expect(cuts).toBe(100);
  expect(words).toHaveLength(10_000);
  expect(words.join("")).toBe(text);
  expect(new Set(words).size).toBe(10_000);
  const { events } = await client.getEvents(id, { limit: 100_000 });
  const kept = ofType(
    events.map(({ event }) => event),
    "item.delta",
  );
  expect(kept).toHaveLength(10_000);
}, 60_000);

it("permissions are answered and turns cancelled while the connection is cut again and again", async () => {
  const server = await startTestServer();
  const proxy = await proxyTo(server.baseUrl);
  const client = testClient(server, { baseUrl: proxy.baseUrl, retry: quick });
  const { id } = await client.newSession({ directory: "/tmp" });
  client.onPermission(() => {
    proxy.cut();
    return "once";
  });
  expect((await client.prompt(id, "permission")).text).toBe("Permission granted with allow-once.");
  const turn = client.prompt(id, "forever");
  proxy.cut();
  await client.cancel(id);
  proxy.cut();
  expect((await turn).stopReason).toBe("cancelled");
  proxy.cut();
  expect((await client.prompt(id, "echo still here")).text).toBe("still here");
  await until("all permissions to be settled", () => client.pendingPermissions.length === 0);
});

it("a server that is killed during a turn is reported as a lost connection while the client still tries", async () => {
  const server = await startTestServer();
  const client = testClient(server, { retry: quick });
  const { id } = await client.newSession({ directory: "/tmp" });
  const events = collect(client);
  const turn = client.prompt(id, "forever");
  turn.catch(() => {});
  await until("the turn to start", () => ofType(events, "item.delta").length > 0);
  await server.stop("SIGKILL");
  const [lost] = await until("the report", () => {
    const found = ofType(events, "connection.lost");
    return found.length > 0 && found;
  });
  expect(lost).toMatchObject({ sessionId: id, source: "client", synthetic: true });
  expect(lost?.attempts).toBeGreaterThan(0);
  expect(client.status).toBe("connected");
  expect(ofType(events, "turn.ended")).toEqual([]);
});

it("a connection that comes back is reported as restored, and the turn goes on", async () => {
  const server = await startTestServer();
  const proxy = await proxyTo(server.baseUrl);
  const client = testClient(server, { baseUrl: proxy.baseUrl, retry: quick });
  const { id } = await client.newSession({ directory: "/tmp" });
  const events = collect(client);
  const turn = client.prompt(id, "forever");
  await until("the turn to start", () => ofType(events, "item.delta").length > 0);
  proxy.isRefusing = true;
  proxy.cut();
  await until("the loss to be reported", () => ofType(events, "connection.lost").length === 1);
  proxy.isRefusing = false;
  await until("the connection to be restored", () => ofType(events, "connection.restored").length === 1);
  const [[lost], [restored]] = [ofType(events, "connection.lost"), ofType(events, "connection.restored")];
  expect(restored?.attempts).toBeGreaterThan(lost?.attempts ?? 0);
  await client.cancel(id);
  expect((await turn).stopReason).toBe("cancelled");
});
