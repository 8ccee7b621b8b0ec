/** Chance that repeats itself, so that a failure can be seen again. */

/** Numbers from 0 up to 1. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The list in another order. */
export function shuffled<T>(list: readonly T[], seed: number): T[] {
  const random = createRandom(seed);
  return list
    .map((value) => ({ value, place: random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ value }) => value);
}
