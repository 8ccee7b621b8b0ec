import { expect, it, onTestFinished } from "vitest";
import { seeded } from "../../testing/random.ts";
import { until } from "../../testing/until.ts";
import { type CuttingProxy, startCuttingProxy } from "./testing/cutting-proxy.ts";
import { ofType } from "./testing/events.ts";
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

it("permissions are answered, and turns cancelled, over cuts", async () => {
  const server = await startTestServer();
  const proxy = await proxyTo(server.baseUrl);
  const client = testClient(server, { baseUrl: proxy.baseUrl, retry: quick });
  const { id } = await client.newSession({ directory: "/tmp" });
  client.onPermission(() => {
    proxy.cut();
    return "once";
  });
  expect((await client.prompt(id, "permission")).text).toContain("allow-once");
  const turn = client.prompt(id, "forever");
  proxy.cut();
  await client.cancel(id);
  proxy.cut();
  expect((await turn).stopReason).toBe("cancelled");
  proxy.cut();
  expect((await client.prompt(id, "echo still here")).text).toBe("still here");
  await until("all permissions to be settled", () => client.pendingPermissions.length === 0);
});
