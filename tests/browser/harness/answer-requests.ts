/** A second client, which answers agent requests for files and terminals: the page does not handle those. */

import { watchAcp } from "../../../packages/acp-http-client/dist/index.js";
import type { Server } from "./server.ts";

/** The answers, by method. */
export type Answers = Readonly<Record<string, (params: Record<string, unknown>) => object>>;

/** Answers agent requests until it is stopped. */
export function answerRequests(server: Server, serverId: string, answers: Answers): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const answering = async (): Promise<void> => {
    for await (const { type, data } of watchAcp(`${server.base}/v1/acp/${serverId}`, { signal: stopping.signal })) {
      if (type !== "message" || !("method" in data) || !("id" in data)) continue;
      const answer = answers[data.method];
      if (answer)
        await server.send(serverId, { id: data.id, result: answer((data.params ?? {}) as Record<string, unknown>) });
    }
  };
  const done = answering();
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}
