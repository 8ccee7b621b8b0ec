import { describe, expect, test } from "vitest";
import { seeded } from "../../testing/random.ts";
import { createSseParser, type SseEvent } from "./sse.ts";

const parse = (...texts: string[]): SseEvent[] => {
  const parser = createSseParser();
  return texts.flatMap((text) => parser(text));
};

const event = (data: string, rest: Partial<SseEvent> = {}): SseEvent => ({
  type: "message",
  id: undefined,
  comment: undefined,
  data,
  ...rest,
});

describe("the SSE parser", () => {
  test("reads type, id, data and the comment in front", () => {
    expect(parse(": at 5 event 7\nevent: exit\nid: j7\ndata: {}\n\n")).toEqual([
      event("{}", { type: "exit", id: "j7", comment: "at 5 event 7" }),
    ]);
  });

  test("joins several data lines and takes one space only off a value", () => {
    expect(parse("data:  a\ndata\ndata:b\n\n")).toEqual([event(" a\n\nb")]);
  });

  test("ends a line at LF, CR and CRLF alike", () => {
    expect(parse("data: a\r\rdata: b\r\n\r\ndata: c\n\n")).toEqual([event("a"), event("b"), event("c")]);
  });

  test("sends nothing for comments alone, for an event without data, or for one that was cut off", () => {
    expect(parse(": connected\n\n", "event: x\n\n", "data: half\n")).toEqual([]);
  });

  test("forgets the id and type of one event before the next", () => {
    expect(parse("event: gap\nid: 5\ndata: a\n\ndata: b\n\n")).toEqual([
      event("a", { type: "gap", id: "5" }),
      event("b"),
    ]);
  });

  test("gives the same events however the text is cut into pieces", () => {
    const text =
      ": x\r\nevent: a\r\nid: 1\r\ndata: one\r\n\r\ndata: two\r\rdata: ü€😀\ndata: 3\n\n: c\n\nid: 9\ndata: z\n\n";
    const whole = parse(text);
    expect(whole).toHaveLength(4);
    const random = seeded(4);
    for (let round = 0; round < 500; round++) {
      const pieces: string[] = [];
      for (let start = 0; start < text.length; ) {
        const end = start + 1 + Math.floor(random() * 9);
        pieces.push(text.slice(start, end));
        start = end;
      }
      expect(parse(...pieces)).toEqual(whole);
    }
  });

  test("takes a line of many megabytes in small pieces without slowing down", () => {
    const piece = "x".repeat(16 << 10);
    const parser = createSseParser();
    const started = performance.now();
    parser("data: ");
    for (let count = 0; count < 2048; count++) parser(piece);
    expect(parser("\n\n")[0]?.data.length).toBe(32 << 20);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
