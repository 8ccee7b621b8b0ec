/** Server-sent events of one response, for streams that are not resumed. */

import { arrived } from "../http.ts";

/** One event. */
export interface SseEvent {
  readonly type: string;
  readonly data: string;
}

/** Reads the events of a response until it ends or the signal is aborted. */
export async function* sseEvents(response: Response, signal?: AbortSignal): AsyncGenerator<SseEvent, void, void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = "";
  let event = { type: "message", data: [] as string[] };
  try {
    for (;;) {
      const { done, value } = await arrived(reader.read(), signal);
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          if (event.data.length > 0) yield { type: event.type, data: event.data.join("\n") };
          event = { type: "message", data: [] };
        } else if (line.startsWith("event:")) event.type = line.slice(6).trim();
        else if (line.startsWith("data:")) event.data.push(line.slice(5).replace(/^ /, ""));
      }
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    await reader.cancel().catch(() => {});
  }
}
