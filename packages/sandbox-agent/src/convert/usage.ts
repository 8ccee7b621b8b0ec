/** Reads the stop reason, the usage and the cost of a turn. */

import type { ContextUsage, Cost, StopReason, TurnUsage } from "../events.ts";
import { compact, numberOf, objectOf, textOf } from "../json.ts";

/** The reasons that an agent may give. The reasons `error` and `unknown` come from this client. */
const STOP_REASONS = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"] as const;

/** The stop reason in the answer to a prompt; `unknown` if it is missing or not a known one. */
export function readStopReason(answer: unknown): StopReason {
  const { stopReason } = objectOf(answer);
  return STOP_REASONS.find((known) => known === stopReason) ?? "unknown";
}

/** Reads a report on the context and the cost of a session. */
export function readContextUsage(update: unknown): ContextUsage {
  const { used, size, cost } = objectOf(update);
  return compact({ used: numberOf(used) ?? 0, size: numberOf(size) ?? 0, cost: readCost(cost) });
}

function readCost(cost: unknown): Cost | undefined {
  const { amount, currency } = objectOf(cost);
  const [number, unit] = [numberOf(amount), textOf(currency)];
  return number === undefined || unit === undefined ? undefined : { amount: number, currency: unit };
}

/**
 * Returns the usage and the cost of a turn, as far as the agent has reported them. The number of tokens is in the
 * answer to the prompt; the use of the context and the cost are reported during the turn.
 */
export function readTurnUsage(
  answer: unknown,
  reported: ContextUsage | undefined,
): { readonly usage?: TurnUsage; readonly cost?: Cost } {
  const tokens = objectOf(objectOf(answer).usage);
  const usage = compact({
    totalTokens: numberOf(tokens.totalTokens),
    inputTokens: numberOf(tokens.inputTokens),
    outputTokens: numberOf(tokens.outputTokens),
    thoughtTokens: numberOf(tokens.thoughtTokens),
    cachedReadTokens: numberOf(tokens.cachedReadTokens),
    cachedWriteTokens: numberOf(tokens.cachedWriteTokens),
    used: reported?.used,
    size: reported?.size,
  });
  return compact({ usage: Object.keys(usage).length > 0 ? usage : undefined, cost: reported?.cost });
}
