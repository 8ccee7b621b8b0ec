/** Another client that answers what an agent asks of a program: its files, its terminals. */

import type { Server } from "./server.ts";

/** What a client answers, by method. */
export type Answers = Readonly<Record<string, (params: Record<string, unknown>) => object>>;

/** Answers until it is stopped. */
export function answering(server: Server, serverId: string, answers: Answers): { stop(): Promise<void> } {
  const over = new AbortController();
  const listening = async (): Promise<void> => {
    const headers = { Accept: "text/event-stream" };
    const response = await fetch(`${server.base}/v1/acp/${serverId}`, { headers, signal: over.signal });
    let held = "";
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const events = (held + part).split("\n\n");
      held = events.pop() ?? "";
      for (const event of events) {
        const data = /^data: (.*)$/m.exec(event)?.[1];
        const { id, method, params } = JSON.parse(data ?? "{}") as Asked;
        const answer = method === undefined ? undefined : answers[method];
        if (answer && id !== undefined) await server.tell(serverId, { id, result: answer(params ?? {}) });
      }
    }
  };
  const done = listening().catch((error: unknown) => {
    if (!over.signal.aborted) throw error;
  });
  return {
    async stop() {
      over.abort();
      await done;
    },
  };
}

interface Asked {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
}
