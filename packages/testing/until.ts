/** Waits for a condition, with a deadline. */

const POLL_MS = 10;

/** Thrown when the deadline passes before the condition holds. */
export class DeadlineError extends Error {}

/**
 * Polls until the probe returns something other than `undefined` and `false`, and returns that.
 *
 * @param what - What the test waits for, such as `"the server to exit"`; part of the error's message.
 */
export async function until<T>(
  what: string,
  probe: () => T | undefined | false | Promise<T | undefined | false>,
  deadlineMs = 20_000,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new DeadlineError(`waited ${deadlineMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Returns the result of a promise; rejects when the promise takes longer than the deadline. */
export async function within<T>(what: string, deadlineMs: number, promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(`waited ${deadlineMs} ms for ${what}`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
