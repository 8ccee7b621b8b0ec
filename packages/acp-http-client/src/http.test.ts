import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AcpHttpError, transportErrorOf } from "./errors.ts";
import { startServer, type TestServer } from "./testing/server.ts";
import { connect, endpoint, openSession, prompt } from "./testing/session.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startServer({ args: ["--token", "secret"] });
});
afterAll(async () => {
  await server.stop();
});

describe("the token", () => {
  test("is sent with every request", async () => {
    const acp = connect(endpoint(server.url), { token: "secret" });
    await prompt(acp, await openSession(acp), "echo hello");
    expect(acp.texts).toEqual(["hello"]);
    await acp.close();
  });

  test("that is wrong ends the connection with 401 after one request", async () => {
    let requests = 0;
    const counting: typeof fetch = (input, init) => {
      requests += 1;
      return fetch(input, init);
    };
    const acp = connect(endpoint(server.url), { token: "wrong", fetch: counting });
    const error = await openSession(acp).then(undefined, transportErrorOf);
    expect(error).toBeInstanceOf(AcpHttpError);
    expect(error).toMatchObject({ status: 401, code: "unauthorized" });
    expect(requests).toBe(1);
  });

  test("that has expired is replaced: the function is called once more, with the rejected token", async () => {
    const asked: (string | undefined)[] = [];
    const token = async (refused: string | undefined): Promise<string> => {
      asked.push(refused);
      return refused === undefined ? "expired" : "secret";
    };
    const acp = connect(endpoint(server.url), { token });
    await prompt(acp, await openSession(acp), "echo hello");
    expect(asked).toEqual([undefined, "expired"]);
    await acp.close();
  });

  test("that is wrong again is not requested a third time", async () => {
    let asked = 0;
    const acp = connect(endpoint(server.url), { token: () => `wrong ${++asked}` });
    expect(await openSession(acp).then(undefined, transportErrorOf)).toMatchObject({ status: 401 });
    expect(asked).toBe(2);
  });
});

describe("requests", () => {
  test("carry the caller's headers and query, and name the agent only until it has started", async () => {
    const seen: string[] = [];
    const watching: typeof fetch = (input, init) => {
      seen.push(`${init?.method} ${new URL(String(input)).search} ${new Headers(init?.headers).get("x-tenant")}`);
      return fetch(input, init);
    };
    const options = { token: "secret", headers: { "X-Tenant": "blue" }, fetch: watching };
    const acp = connect(`${endpoint(server.url)}&key=1`, options);
    await openSession(acp);
    await acp.close();
    expect(seen[0]).toBe("GET ?key=1 blue");
    expect(seen.filter((line) => line.startsWith("POST"))).toEqual(["POST ?agent=mock&key=1 blue", "POST ?key=1 blue"]);
    expect(seen.at(-1)).toBe("DELETE ?key=1 blue");
  });
});
