/** Waiting with an end to it. */

const POLL_MS = 25;

/** Something that did not come in time. */
export class TooLate extends Error {}

/** Polls until a probe gives something. */
export async function until<T>(
  what: string,
  withinMs: number,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new TooLate(`not within ${withinMs / 1000} s: ${what}`);
    await pause(POLL_MS);
  }
}

/** What a promise comes to, if it does in time. */
export async function within<T>(what: string, ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooLate(`not within ${ms / 1000} s: ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets some time pass. For polling, and for what takes its time by design. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
