/** All requests that wait for a person, of all instances. */

import type { Watched } from "../journal/fold.ts";
import { nameOfSession } from "../journal/session.ts";
import type { Ask, InstanceState } from "../journal/types.ts";

/** A request with the instance it came from. */
export interface OpenAsk {
  readonly serverId: string;
  readonly agent: string;
  readonly sessionTitle: string | undefined;
  readonly ask: Ask;
}

function titleIn(state: InstanceState, sessionId: string | undefined): string | undefined {
  const session = state.sessions.get(sessionId ?? "");
  return session && nameOfSession(session);
}

/** The oldest first. */
export function openAsks(instances: ReadonlyMap<string, Watched>): readonly OpenAsk[] {
  const open = [...instances.values()].flatMap(({ state }) =>
    state.asks.map((ask) => ({
      serverId: state.serverId,
      agent: state.agent,
      sessionTitle: titleIn(state, ask.sessionId),
      ask,
    })),
  );
  return open.sort((one, other) => (one.ask.atMs ?? 0) - (other.ask.atMs ?? 0));
}
