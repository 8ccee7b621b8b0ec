import { describe, expect, test } from "vitest";
import { AcpExitError, AcpHttpError, transportErrorOf } from "./errors.ts";
import { httpErrorOf } from "./http.ts";

const response = (body: string, headers: Record<string, string> = {}): Response =>
  new Response(body, { status: 503, headers });

describe("an HTTP error", () => {
  test("carries the problem document with its extension members", async () => {
    const problem = { type: "urn:x:error:too_full", title: "Full", status: 503, detail: "try later", limit: 7 };
    const error = await httpErrorOf(response(JSON.stringify(problem), { "retry-after": "3" }));
    expect(error).toMatchObject({
      name: "AcpHttpError",
      reason: "refused",
      status: 503,
      code: "too_full",
      detail: "try later",
      problem: { limit: 7 },
      retryAfterMs: 3000,
      message: "503 too_full: try later",
    });
  });

  test.each(["<html>Bad gateway</html>", "", "[1]", "null", '"text"', '{"error":"x"}'])(
    "is made from a body that is not a problem document: %j",
    async (body) => {
      const error = await httpErrorOf(response(body, { "retry-after": "Sun, 15 Nov 2026 00:00:00 GMT" }));
      expect(error).toMatchObject({ status: 503, code: "http_503", problem: undefined, retryAfterMs: 0 });
    },
  );
});

describe("the error behind a rejection", () => {
  test("is the rejection's reason itself, or the data of that reason", () => {
    const error = new AcpHttpError(502, undefined);
    expect(transportErrorOf(error)).toBe(error);
    expect(transportErrorOf(Object.assign(new Error("x"), { data: error }))).toBe(error);
    expect(transportErrorOf(Object.assign(new Error("x"), { data: { status: 502 } }))).toBeUndefined();
    expect(transportErrorOf("x")).toBeUndefined();
  });

  test("says how an agent exited", () => {
    expect(new AcpExitError({ signal: "SIGKILL" }).message).toBe("the agent exited (SIGKILL)");
    expect(new AcpExitError({ code: 0 }).message).toBe("the agent exited (code 0)");
    expect(new AcpExitError({}).message).toBe("the agent exited (unknown)");
  });
});
