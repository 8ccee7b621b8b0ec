/** Which answer belongs to which request, and how long it took. Grows with the journal it is told of. */

import { objectOf } from "acp-http-client/internal";
import { envelopeOf, type JournalEvent, keyOf, kindOf } from "./event.ts";

/** The other half of a pair. */
export interface Peer {
  readonly index: number;
  readonly latencyMs: number | undefined;
  /** What was asked, for the answer's line. */
  readonly method: string;
}

/** All pairs of one journal. */
export interface Pairs {
  add(line: JournalEvent): void;
  peerOf(index: number): Peer | undefined;
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
    add(line) {
      if (line.type === "failed") return settle("sent", objectOf(line.data).id, line);
      if (line.type === "exit") return open.clear();
      if (line.type !== "sent" && line.type !== "message") return;
      const envelope = envelopeOf(line);
      const kind = kindOf(envelope);
      if (kind === "request") open.set(`${line.type} ${keyOf(envelope.id)}`, line);
      // An answer goes the other way than what it answers.
      if (kind === "response") settle(line.type === "sent" ? "message" : "sent", envelope.id, line);
    },
    peerOf: (index) => peers.get(index),
  };
}
