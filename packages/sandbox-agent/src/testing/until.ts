/** Waiting for something to become true, with a deadline. */

/** Asks until the answer is true. Fails loudly, with what was waited for. */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  deadlineMs = 20_000,
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`waited ${deadlineMs} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
