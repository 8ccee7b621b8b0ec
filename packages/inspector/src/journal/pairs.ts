/** Finds the response to each request in a journal, and the time between them. */

import { objectOf } from "acp-http-client/internal";
import { envelopeOf, type JournalEvent, keyOf, kindOf } from "./event.ts";

/** The other event of a pair: the response to a request, or the request of a response. */
export interface Peer {
  readonly index: number;
  readonly latencyMs: number | undefined;
  /** The request's method, which a response does not contain. */
  readonly method: string;
}

/** All pairs of one journal. */
export interface Pairs {
  add(event: JournalEvent): void;
  peerOf(index: number): Peer | undefined;
  /** Forgets the requests without a response: they will receive none, because their process has exited. */
  endAll(): void;
}

export function createPairs(): Pairs {
  const open = new Map<string, JournalEvent>();
  const peers = new Map<number, Peer>();

  const settle = (side: "sent" | "message", id: unknown, answer: JournalEvent): void => {
    const key = `${side} ${keyOf(id)}`;
    const request = open.get(key);
    if (!request) return;
    open.delete(key);
    const method = String(envelopeOf(request).method);
    const isTimed = request.atMs !== undefined && answer.atMs !== undefined;
    const latencyMs = isTimed ? (answer.atMs ?? 0) - (request.atMs ?? 0) : undefined;
    peers.set(request.index, { index: answer.index, latencyMs, method });
    peers.set(answer.index, { index: request.index, latencyMs, method });
  };

  return {
    add(event) {
      if (event.type === "failed") return settle("sent", objectOf(event.data).id, event);
      if (event.type === "exit") return open.clear();
      if (event.type !== "sent" && event.type !== "message") return;
      const envelope = envelopeOf(event);
      const kind = kindOf(envelope);
      if (kind === "request") open.set(`${event.type} ${keyOf(envelope.id)}`, event);
      // A response is sent in the opposite direction of its request.
      if (kind === "response") settle(event.type === "sent" ? "message" : "sent", envelope.id, event);
    },
    peerOf: (index) => peers.get(index),
    endAll: () => open.clear(),
  };
}
