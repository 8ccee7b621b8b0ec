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
  test("parses type, id, data and the preceding comment", () => {
    expect(parse(": at 5 event 7\nevent: exit\nid: j7\ndata: {}\n\n")).toEqual([
      event("{}", { type: "exit", id: "j7", comment: "at 5 event 7" }),
    ]);
  });

  test("joins data lines and strips one leading space only", () => {
    expect(parse("data:  a\ndata\ndata:b\n\n")).toEqual([event(" a\n\nb")]);
  });

  test("accepts LF, CR and CRLF as line endings", () => {
    expect(parse("data: a\r\rdata: b\r\n\r\ndata: c\n\n")).toEqual([event("a"), event("b"), event("c")]);
  });

  test("yields nothing for comments alone, an event without data, or an incomplete event", () => {
    expect(parse(": connected\n\n", "event: x\n\n", "data: half\n")).toEqual([]);
  });

  test("resets id and type after each event", () => {
    expect(parse("event: gap\nid: 5\ndata: a\n\ndata: b\n\n")).toEqual([
      event("a", { type: "gap", id: "5" }),
      event("b"),
    ]);
  });

  test("yields the same events however the text is chunked", () => {
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

  test("parses a line of many megabytes that arrives in small chunks", () => {
    const chunk = "x".repeat(16 << 10);
    const parser = createSseParser();
    parser("data: ");
    for (let count = 0; count < 2048; count++) parser(chunk);
    expect(parser("\n\n")[0]?.data.length).toBe(32 << 20);
  });
});
