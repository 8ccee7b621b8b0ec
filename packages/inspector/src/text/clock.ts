/** Formats a time of day, with the date if it is not today's. */

const two = (value: number): string => String(value).padStart(2, "0");

export function clockText(at: Date, now: Date): string {
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return at.toDateString() === now.toDateString() ? time : `${dateText(at)} ${time}`;
}

/** Formats the date in local time, such as 2026-01-31. */
export function dateText(at: Date): string {
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}
