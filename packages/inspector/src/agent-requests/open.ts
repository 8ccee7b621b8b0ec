/** The open agent requests of all instances. */

import type { WatchedInstance } from "../journal/apply-event.ts";
import { nameOfSession } from "../journal/session.ts";
import type { AgentRequest, InstanceState } from "../journal/types.ts";

/** An open agent request and its instance. */
export interface OpenRequest {
  readonly serverId: string;
  readonly agent: string;
  readonly sessionTitle: string | undefined;
  readonly request: AgentRequest;
}

function titleIn(state: InstanceState, sessionId: string | undefined): string | undefined {
  const session = state.sessions.get(sessionId ?? "");
  return session && nameOfSession(session);
}

/** All open requests, oldest first. */
export function openRequests(instances: ReadonlyMap<string, WatchedInstance>): readonly OpenRequest[] {
  const open = [...instances.values()].flatMap(({ state }) =>
    state.agentRequests.map((request) => ({
      serverId: state.serverId,
      agent: state.agent,
      sessionTitle: titleIn(state, request.sessionId),
      request,
    })),
  );
  return open.sort((one, other) => (one.request.atMs ?? 0) - (other.request.atMs ?? 0));
}
