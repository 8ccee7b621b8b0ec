import { describe, expect, test, vi } from "vitest";
import { AcpHttpError, AcpTransportError } from "./errors.ts";
import { createBackoff, NEVER, withRetry } from "./retry.ts";

const cut = new Error("cut");

/** Returns the delays of consecutive waits, without really waiting. `chance` is what `Math.random()` returns. */
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

describe("the backoff", () => {
  test("doubles up to the longest delay, with up to half of it random", async () => {
    expect(await waits(6, 1)).toEqual([8, 16, 32, 64, 64, 64]);
    expect(await waits(6, 0)).toEqual([4, 8, 16, 32, 32, 32]);
  });

  test("is never shorter than Retry-After", async () => {
    expect(await waits(2, 1, new AcpHttpError(503, undefined, "", 3000))).toEqual([3000, 3000]);
  });

  test("restarts after a success, and ends when the signal is aborted", async () => {
    const delays: number[] = [];
    vi.useFakeTimers();
    vi.spyOn(Math, "random").mockReturnValue(1);
    try {
      const stop = new AbortController();
      const backoff = createBackoff({ minMs: 8, giveUpMs: 50_000 }, stop.signal);
      const wait = async (): Promise<void> => {
        const started = Date.now();
        const waiting = backoff.wait(cut);
        await vi.runAllTimersAsync();
        await waiting;
        delays.push(Date.now() - started);
      };
      await wait();
      await wait();
      backoff.reset();
      await wait();
      expect(delays).toEqual([8, 16, 8]);
      const waiting = backoff.wait(new AcpHttpError(503, undefined, "", 30_000));
      stop.abort(new Error("enough"));
      await expect(waiting).rejects.toThrow("enough");
    } finally {
      vi.useRealTimers();
      vi.restoreAllMocks();
    }
  });
});

describe("retrying", () => {
  test("gives up after a minute by default", async () => {
    vi.useFakeTimers();
    vi.spyOn(Math, "random").mockReturnValue(1);
    try {
      const started = Date.now();
      const failing = withRetry(
        {},
        NEVER,
        async () => {
          throw cut;
        },
        () => false,
      ).catch(() => Date.now() - started);
      await vi.runAllTimersAsync();
      const elapsed = await failing;
      // It gave up a little earlier, because the next attempt would have been later than a minute.
      expect(elapsed).toBeLessThanOrEqual(60_000);
      expect(elapsed).toBeGreaterThan(49_000);
    } finally {
      vi.useRealTimers();
      vi.restoreAllMocks();
    }
  });

  test("gives up after giveUpMs with the last error", async () => {
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

  test("does not repeat a final error", async () => {
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
