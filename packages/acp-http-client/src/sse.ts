/**
 * Parses server-sent events, as the HTML standard defines them. An event that is incomplete when the text ends is
 * dropped.
 */

/** A server-sent event. */
export interface SseEvent {
  /** The `event:` field; `message` if there is none. */
  readonly type: string;
  /** The `id:` field of this event. */
  readonly id: string | undefined;
  /** The `data:` lines, joined. */
  readonly data: string;
  /** The last comment before the event. */
  readonly comment: string | undefined;
}

/** Takes the next piece of text and returns the events that it completes. */
export type SseParser = (text: string) => SseEvent[];

/** Makes a parser for one connection. */
export function createSseParser(): SseParser {
  // The pieces of an incomplete line. Concatenating at every chunk would be quadratic for a long line.
  let partial: string[] = [];
  let afterReturn = false;
  let type = "";
  let id: string | undefined;
  let comment: string | undefined;
  let data: string[] = [];

  const take = (line: string, events: SseEvent[]): void => {
    if (line === "") {
      if (data.length > 0) events.push({ type: type || "message", id, data: data.join("\n"), comment });
      type = "";
      id = undefined;
      comment = undefined;
      data = [];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "") comment = value;
    else if (field === "data") data.push(value);
    else if (field === "event") type = value;
    else if (field === "id" && !value.includes("\0")) id = value;
  };

  return (text) => {
    const events: SseEvent[] = [];
    let start = 0;
    if (afterReturn && text !== "") {
      // A CRLF that is split between two chunks is one line ending.
      if (text[0] === "\n") start = 1;
      afterReturn = false;
    }
    const lineEnd = /\r\n?|\n/g;
    lineEnd.lastIndex = start;
    for (let end = lineEnd.exec(text); end !== null; end = lineEnd.exec(text)) {
      partial.push(text.slice(start, end.index));
      take(partial.join(""), events);
      partial = [];
      start = lineEnd.lastIndex;
      afterReturn = end[0] === "\r" && start === text.length;
    }
    if (start < text.length) partial.push(text.slice(start));
    return events;
  };
}

/** Reads the events of a response body. Yields one batch per chunk of bytes, even if no event ends in the chunk. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent[], void, void> {
  const [parse, decoder, reader] = [createSseParser(), new TextDecoder(), body.getReader()];
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      yield parse(decoder.decode(part.value, { stream: true }));
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}
