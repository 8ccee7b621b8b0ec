/** A server that ignores the `Prefer` header and answers a request in the body of its POST. */

import { describe, expect, onTestFinished, test } from "vitest";
import { until } from "../../testing/until.ts";
import { type BodyServer, type BodyServerOptions, startBodyServer } from "./testing/body-server.ts";
import { connect, endpoint, openSession, prompt } from "./testing/session.ts";

async function serverWith(options: BodyServerOptions): Promise<BodyServer> {
  const server = await startBodyServer(options);
  onTestFinished(() => server.stop());
  return server;
}

describe("a response in the body of the POST", () => {
  test("is delivered when the event stream does not bring it", async () => {
    const server = await serverWith({ responses: "body" });
    const acp = connect(endpoint(server.url));
    const sessionId = await openSession(acp);
    expect((await prompt(acp, sessionId, "stream 100")).stopReason).toBe("end_turn");
    expect(acp.texts).toHaveLength(100);
    await acp.close();
  });

  test("waits for the notifications before it, which are on the event stream", async () => {
    const server = await serverWith({ responses: "body", streamDelayMs: 20 });
    const acp = connect(endpoint(server.url));
    const sessionId = await openSession(acp);
    await prompt(acp, sessionId, "stream 200");
    expect(acp.texts).toHaveLength(200);
    await acp.close();
  });

  test("does not keep a cancellation from being sent while the agent works", async () => {
    const server = await serverWith({ responses: "body" });
    const acp = connect(endpoint(server.url));
    const sessionId = await openSession(acp);
    const turn = prompt(acp, sessionId, "forever");
    await until("the turn to start", () => acp.texts.length > 0);
    await acp.connection.agent.notify("session/cancel", { sessionId });
    expect((await turn).stopReason).toBe("cancelled");
    await acp.close();
  });

  test.each(["body, then stream", "stream, then body"] as const)(
    "counts once when both bring it: %s",
    async (responses) => {
      const server = await serverWith({ responses });
      const acp = connect(endpoint(server.url));
      const received: unknown[] = [];
      const sessionId = await openSession(acp);
      for (const text of ["echo one", "echo two", "echo three"]) received.push(await prompt(acp, sessionId, text));
      expect(received).toEqual([{ stopReason: "end_turn" }, { stopReason: "end_turn" }, { stopReason: "end_turn" }]);
      expect(acp.texts).toEqual(["one", "two", "three"]);
      expect(server.posted).toHaveLength(5);
      await acp.close();
    },
  );

  test("that is not JSON fails the request", async () => {
    const server = await serverWith({ responses: "body" });
    const garbled: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      return String(init?.body).includes("echo garbled") ? new Response("<html>") : response;
    };
    const acp = connect(endpoint(server.url), { fetch: garbled });
    const sessionId = await openSession(acp);
    await expect(prompt(acp, sessionId, "echo garbled")).rejects.toThrow("is not JSON");
    await acp.close();
  });
});
