/** Formats what a conversation has cost. Agents report unrounded sums, such as 0.0023639999999999998. */

/** Smaller amounts are shown as "less than" this one. */
const SMALLEST = 0.0001;

export function costText(amount: number, currency: string): string {
  if (amount > 0 && amount < SMALLEST) return `less than ${SMALLEST} ${currency}`.trim();
  const maximumFractionDigits = amount < 1 ? 4 : 2;
  return `${amount.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits })} ${currency}`.trim();
}
