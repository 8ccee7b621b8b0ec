/** Tests that the message of an error tells the caller what to do about it. */

import { describe, expect, it, onTestFinished } from "vitest";
import { SandboxAgentClient } from "./client.ts";
import { AgentError, AuthenticationRequiredError, HttpError, NotConnectedError } from "./errors.ts";
import { collect, ofType } from "./testing/events.ts";
import { script, scriptClient } from "./testing/script.ts";
import { startTestServer, testClient } from "./testing/server.ts";

describe("the message of an agent's error", () => {
  it.each([
    ["a message of its own", { code: -32050, message: "the model is overloaded" }, "the model is overloaded"],
    [
      "a generic message and a text as data",
      { code: -32603, message: "Internal error", data: "no API key" },
      "Internal error: no API key",
    ],
    [
      "a generic message and details",
      { code: -32603, message: "Internal error", data: { details: "no API key" } },
      "Internal error: no API key",
    ],
    [
      "a nested error as data",
      { code: -32603, message: "Internal error", data: { error: { message: "no API key" } } },
      "Internal error: no API key",
    ],
    [
      "data that repeats the message",
      { code: -32603, message: "no API key", data: { message: "no API key" } },
      "no API key",
    ],
    [
      "data without a text",
      { code: -32603, message: "Internal error", data: { status: 500 } },
      'Internal error: {"status":500}',
    ],
    ["the code that demands a login", { code: -32000, message: "Authentication required" }, "Authentication required"],
  ])("explains an error that has %s", async (_, error, message) => {
    const client = await scriptClient();
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    const failure = await client.prompt(id, script({ error })).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(error.code === -32000 ? AuthenticationRequiredError : AgentError);
    expect(failure).toMatchObject({ message, number: error.code });
    expect(ofType(events, "error")).toMatchObject([{ message, code: error.code }]);
  });
});

describe("a client without an agent", () => {
  it("says so in every call that needs one", async () => {
    const server = await startTestServer();
    const client = new SandboxAgentClient({ baseUrl: server.baseUrl, token: server.token });
    onTestFinished(() => client.dispose());
    await expect(client.newSession()).rejects.toBeInstanceOf(NotConnectedError);
    await expect(client.newSession()).rejects.toThrow("no agent given");
    await expect(client.connect()).rejects.toThrow("no agent given");
    expect((await client.health()).status).toBe("ok");
  });
});

describe("listSessions()", () => {
  it("fails if the server refuses the token", async () => {
    const server = await startTestServer();
    const client = testClient(server, { token: "wrong" });
    for (const _ of ["while connecting", "afterwards"]) {
      const failure = await client.listSessions().catch((thrown: unknown) => thrown);
      expect(failure).toBeInstanceOf(HttpError);
      expect(failure).toMatchObject({ status: 401 });
    }
  });

  it("lists the stored sessions if the server cannot be reached", async () => {
    const server = await startTestServer();
    const client = testClient(server, { retry: { minMs: 1, giveUpMs: 50 } });
    const { id } = await client.newSession({ directory: "/tmp" });
    await server.stop("SIGKILL");
    await expect(client.prompt(id, "hello")).rejects.toThrow();
    expect(await client.listSessions()).toMatchObject([{ id }]);
  });
});
