/** Collects events for assertions. */

import { onTestFinished } from "vitest";
import type { SandboxAgentClient } from "../client.ts";
import type { EventOf, EventType, SandboxEvent } from "../events.ts";

/** Returns a list that grows with every event. */
export function collect(client: SandboxAgentClient): SandboxEvent[] {
  const events: SandboxEvent[] = [];
  onTestFinished(client.onEvent((event) => events.push(event)));
  return events;
}

/** The events of one type. */
export function ofType<T extends EventType>(events: readonly SandboxEvent[], type: T): EventOf<T>[] {
  return events.filter((event): event is EventOf<T> => event.type === type);
}
