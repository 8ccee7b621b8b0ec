/** All requests that wait for a person, of all instances. */

import type { Watched } from "../journal/fold.ts";
import type { Ask } from "../journal/types.ts";

/** A request with the instance it came from. */
export interface OpenAsk {
  readonly serverId: string;
  readonly agent: string;
  readonly sessionTitle: string | undefined;
  readonly ask: Ask;
}

/** The oldest first. */
export function openAsks(instances: ReadonlyMap<string, Watched>): readonly OpenAsk[] {
  const open = [...instances.values()].flatMap(({ state }) =>
    state.asks.map((ask) => ({
      serverId: state.serverId,
      agent: state.agent,
      sessionTitle: state.sessions.get(ask.sessionId ?? "")?.title,
      ask,
    })),
  );
  return open.sort((one, other) => (one.ask.atMs ?? 0) - (other.ask.atMs ?? 0));
}
