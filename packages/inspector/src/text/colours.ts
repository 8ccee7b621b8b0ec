/** Removes the control sequences with which programs colour what they print. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: the regex looks for control characters.
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g;

export function withoutColours(text: string): string {
  return text.replace(SEQUENCES, "");
}
