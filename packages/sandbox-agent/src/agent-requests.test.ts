import { describe, expect, it } from "vitest";
import { seeded, shuffled } from "../../testing/random.ts";
import { until } from "../../testing/until.ts";
import { NotFoundError } from "./errors.ts";
import { collect, ofType } from "./testing/events.ts";
import { script, scriptClient } from "./testing/script.ts";
import { startTestServer, testClient } from "./testing/server.ts";

describe("permissions", () => {
  it.each([
    ["once", "allow-once", "granted"],
    ["always", "allow-always", "granted"],
    ["reject", "reject-once", "refused"],
  ] as const)("%s selects %s", async (reply, option, outcome) => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    client.onPermission((request) => {
      expect(request).toMatchObject({ sessionId: id, title: "Edit file 1", toolKind: "edit" });
      return reply;
    });
    const { text } = await client.prompt(id, "permission");
    // Compares the whole sentence, because an error that quotes a malformed answer would also contain the option.
    expect(text).toBe(`Permission ${outcome} with ${option}.`);
    expect(ofType(events, "permission.requested")).toHaveLength(1);
    expect(ofType(events, "permission.resolved")).toMatchObject([{ by: "client", reply, optionId: option }]);
  });

  it("can be replied to later, by calling replyPermission(), with one of their own options", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const turn = client.prompt(id, "permission");
    await until("the permission request", () => client.pendingPermissions.length === 1);
    const [request] = client.pendingPermissions;
    const permissionId = request?.permissionId ?? "";
    await expect(client.replyPermission(permissionId, { optionId: "nonsense" })).rejects.toBeInstanceOf(NotFoundError);
    await client.replyPermission(permissionId, { optionId: "reject-always" });
    expect((await turn).text).toBe("Permission refused with reject-always.");
    await expect(client.replyPermission(permissionId, "once")).rejects.toBeInstanceOf(NotFoundError);
  });

  it("are passed to a handler that is added later, and stay open if a handler throws", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    const stop = client.onPermission(() => {
      throw new Error("handler is broken");
    });
    const turn = client.prompt(id, "permission");
    await until("the handler to fail", () => ofType(events, "error").length === 1);
    expect(ofType(events, "error")).toMatchObject([{ code: "handler_failed", message: "handler is broken" }]);
    stop();
    await client.replyPermission(client.pendingPermissions[0]?.permissionId ?? "", "once");
    await turn;
    const second = client.prompt(id, "permission");
    await until("the permission request", () => client.pendingPermissions.length === 1);
    client.onPermission(() => "once");
    expect((await second).text).toBe("Permission granted with allow-once.");
  });

  it("that another client answers are resolved in this client, too", async () => {
    const server = await startTestServer();
    const one = testClient(server, { serverId: "shared" });
    const { id } = await one.newSession({ directory: "/tmp" });
    const two = testClient(server, { serverId: "shared", autoConnect: false });
    await two.connect();
    const [here, there] = [collect(one), collect(two)];
    const turn = one.prompt(id, "permission");
    await until(
      "both clients to receive the request",
      () => one.pendingPermissions.length + two.pendingPermissions.length === 2,
    );
    await two.replyPermission(two.pendingPermissions[0]?.permissionId ?? "", "once");
    expect((await turn).text).toBe("Permission granted with allow-once.");
    expect(ofType(here, "permission.resolved")).toMatchObject([{ by: "elsewhere" }]);
    expect(ofType(there, "permission.resolved")).toMatchObject([{ by: "client", reply: "once" }]);
    expect(one.pendingPermissions).toEqual([]);
  });
});

describe("what a permission request grants", () => {
  const request = (...kinds: string[]): string =>
    script({
      request: "session/request_permission",
      params: {
        toolCall: { toolCallId: "t", title: "Edit" },
        options: kinds.map((kind) => ({ optionId: `option-${kind}`, name: kind, kind })),
      },
    });

  it("is nothing if the reply is `once` and only `always` is offered: the request is cancelled", async () => {
    const client = await scriptClient();
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    client.onPermission(() => "once");
    const { text } = await client.prompt(id, request("allow_always", "reject_once"));
    expect(JSON.parse(text)).toMatchObject({ outcome: { outcome: "cancelled" } });
    const [resolved] = ofType(events, "permission.resolved");
    expect(resolved).toMatchObject({ by: "client", reply: "once", granted: "nothing" });
    expect(resolved).not.toHaveProperty("optionId");
    expect(ofType(events, "error")).toMatchObject([{ code: "permission_not_offered", source: "client" }]);
  });

  it("is `once` if the reply is `always` and only `once` is offered", async () => {
    const client = await scriptClient();
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    client.onPermission(() => "always");
    const { text } = await client.prompt(id, request("allow_once", "reject_once"));
    expect(JSON.parse(text)).toMatchObject({ outcome: { outcome: "selected", optionId: "option-allow_once" } });
    expect(ofType(events, "permission.resolved")).toMatchObject([
      { reply: "always", granted: "once", optionId: "option-allow_once" },
    ]);
    expect(ofType(events, "error")).toEqual([]);
  });

  it("is nothing if the turn is cancelled", async () => {
    const client = await scriptClient();
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    const turn = client.prompt(id, request("allow_once"));
    await until("the permission request", () => client.pendingPermissions.length === 1);
    await client.cancel(id);
    await turn;
    expect(ofType(events, "permission.resolved")).toMatchObject([{ by: "client", granted: "nothing" }]);
  });
});

describe("questions", () => {
  it("are answered with an option, or rejected", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const events = collect(client);
    const stop = client.onQuestion((question) => {
      expect(question).toMatchObject({ prompt: "Which option?", options: [{ id: "option-a", label: "Option A" }, {}] });
      return [["option-b"]];
    });
    expect((await client.prompt(id, "question")).text).toBe("Question answered: option-b.");
    expect(ofType(events, "question.requested")).toMatchObject([{ status: "requested" }]);
    expect(ofType(events, "question.resolved")).toMatchObject([
      { status: "answered", answers: [["option-b"]], response: "option-b", by: "client" },
    ]);
    stop();
    const turn = client.prompt(id, "question");
    await until("the question", () => client.pendingQuestions.length === 1);
    await client.rejectQuestion(client.pendingQuestions[0]?.questionId ?? "");
    expect((await turn).text).toBe("Question rejected.");
    expect(ofType(events, "question.resolved").at(-1)).toMatchObject({ status: "rejected", by: "client" });
  });

  it("can be forms", async () => {
    const client = testClient(await startTestServer());
    const { id } = await client.newSession({ directory: "/tmp" });
    const turn = client.prompt(id, "elicit");
    await until("the form", () => client.pendingQuestions.length === 1);
    const [form] = client.pendingQuestions;
    expect(form).toMatchObject({ kind: "form", sessionId: id, prompt: "Please fill in the form." });
    const values: Record<string, string> = { colour: "blue", count: "3", name: "Ada", sure: "true" };
    const questionId = form?.questionId ?? "";
    await expect(client.replyQuestion(questionId, [])).rejects.toBeInstanceOf(TypeError);
    await client.replyQuestion(questionId, form?.fields.map(({ name }) => [values[name] ?? ""]) ?? []);
    const { text } = await turn;
    const [, content = ""] = /^Form accepted: (\{.*\})\.$/.exec(text) ?? [];
    expect(JSON.parse(content)).toEqual({ colour: "blue", count: 3, name: "Ada", sure: true });
    client.onQuestion(() => null);
    expect((await client.prompt(id, "elicit")).text).toBe("Form declined.");
  });
});

it("1,000 permissions and 1,000 questions are answered in random order, each once", async () => {
  const client = testClient(await startTestServer());
  const one = await client.newSession({ directory: "/tmp" });
  const two = await client.newSession({ directory: "/tmp" });
  const events = collect(client);
  const turns = [client.prompt(one.id, "permissions 1000"), client.prompt(two.id, "questions 1000")];
  await until(
    "all requests to arrive",
    () => client.pendingPermissions.length === 1000 && client.pendingQuestions.length === 1000,
  );
  const permissions = client.pendingPermissions.map(
    ({ permissionId }) =>
      () =>
        client.replyPermission(permissionId, "once"),
  );
  const questions = client.pendingQuestions.map(
    ({ questionId }) =>
      () =>
        client.replyQuestion(questionId, [["option-a"]]),
  );
  await Promise.all(shuffled([...permissions, ...questions], seeded(20_261_115)).map((reply) => reply()));
  const results = await Promise.all(turns);
  expect(results.map(({ stopReason }) => stopReason)).toEqual(["end_turn", "end_turn"]);
  const count = (pattern: RegExp): number => results.flatMap(({ text }) => text.match(pattern) ?? []).length;
  expect(count(/^Permission \d+ granted with allow-once\.$/gm)).toBe(1000);
  expect(count(/^Question \d+ answered: option-a\.$/gm)).toBe(1000);
  const resolved = [...ofType(events, "permission.resolved"), ...ofType(events, "question.resolved")];
  expect(resolved).toHaveLength(2000);
  expect(new Set(resolved.map((event) => ("questionId" in event ? event.questionId : event.permissionId))).size).toBe(
    2000,
  );
});
