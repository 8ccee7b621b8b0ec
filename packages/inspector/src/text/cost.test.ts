import { expect, test } from "vitest";
import { costText } from "./cost.ts";

test.each([
  [0.0023639999999999998, "USD", "0.0024 USD"],
  [0.1 + 0.2, "USD", "0.30 USD"],
  [0.25, "USD", "0.25 USD"],
  [0.1234, "EUR", "0.1234 EUR"],
  [1.23456, "USD", "1.23 USD"],
  [1234.5, "USD", "1,234.50 USD"],
  [0.00001, "USD", "less than 0.0001 USD"],
  [2, "", "2.00"],
])("%d %s is shown as %s", (amount, currency, text) => expect(costText(amount, currency)).toBe(text));
