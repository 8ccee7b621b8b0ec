import { describe, expect, test, vi } from "vitest";
import { AcpHttpError, AcpTransportError } from "./errors.ts";
import { createBackoff, NEVER, withRetry } from "./retry.ts";

const cut = new Error("cut");

/** How long some waits in a row are to take, with chance at one end of what it can do. Nothing is waited for. */
async function waits(count: number, chance: number, error: unknown = cut): Promise<number[]> {
  const asked: number[] = [];
  vi.spyOn(Math, "random").mockReturnValue(chance);
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) => {
    asked.push(ms);
    queueMicrotask(run);
  }) as typeof setTimeout);
  const backoff = createBackoff({ minMs: 8, maxMs: 64 }, NEVER);
  try {
    for (let index = 0; index < count; index += 1) await backoff.wait(error);
  } finally {
    vi.restoreAllMocks();
  }
  return asked;
}

describe("waiting between tries", () => {
  test("doubles up to the longest wait, and chance takes away up to half of it", async () => {
    expect(await waits(6, 1)).toEqual([8, 16, 32, 64, 64, 64]);
    expect(await waits(6, 0)).toEqual([4, 8, 16, 32, 32, 32]);
  });

  test("is never shorter than what the server asks for", async () => {
    expect(await waits(2, 1, new AcpHttpError(503, undefined, "", 3000))).toEqual([3000, 3000]);
  });

  test("begins anew behind a success, and ends at once with the signal", async () => {
    const stop = new AbortController();
    const backoff = createBackoff({ minMs: 1, giveUpMs: 50_000 }, stop.signal);
    for (let index = 0; index < 8; index += 1) await backoff.wait(cut);
    backoff.reset();
    const began = performance.now();
    const waiting = backoff.wait(new AcpHttpError(503, undefined, "", 30_000));
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});

describe("trying until it works", () => {
  test("gives up after so long, with what it failed of", async () => {
    let tries = 0;
    const failing = withRetry(
      { minMs: 1, maxMs: 5, giveUpMs: 60 },
      NEVER,
      async () => {
        tries += 1;
        throw cut;
      },
      () => false,
    );
    const error = await failing.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AcpTransportError);
    expect(error).toMatchObject({ reason: "unreachable", cause: cut });
    expect(tries).toBeGreaterThan(2);
  });

  test("does not repeat what stands", async () => {
    let tries = 0;
    const refused = withRetry(
      {},
      NEVER,
      async () => {
        tries += 1;
        throw new AcpHttpError(400, undefined);
      },
      ({ status }) => status === 400,
    );
    await expect(refused).rejects.toMatchObject({ status: 400 });
    expect(tries).toBe(1);
  });
});
