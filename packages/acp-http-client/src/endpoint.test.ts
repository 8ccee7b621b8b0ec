import { describe, expect, test } from "vitest";
import { type InstanceState, parseEndpoint, startPosition } from "./endpoint.ts";

const endpoint = parseEndpoint("http://host/base/v1/acp/my.id~1?agent=mock&key=1#x");
const state = (changes: Partial<InstanceState> = {}): InstanceState => ({
  isRunning: true,
  lastEvent: 90,
  awaiting: new Set(),
  createdAtMs: 5,
  ...changes,
});

describe("an endpoint URL", () => {
  test("gives the id, the list above it, and an address that starts nothing", () => {
    expect(endpoint).toEqual({
      serverId: "my.id~1",
      bootstrapUrl: "http://host/base/v1/acp/my.id~1?agent=mock&key=1",
      url: "http://host/base/v1/acp/my.id~1?key=1",
      listUrl: "http://host/base/v1/acp?key=1",
    });
  });
});

describe("where to begin", () => {
  test("is the very first message of an instance that is not there yet", () => {
    for (const replay of ["open", "all", "none"] as const) {
      expect(startPosition(endpoint, "absent", replay, undefined)).toMatchObject({
        isRunning: false,
        lastEventId: undefined,
        past: 0,
        url: endpoint.url,
      });
    }
  });

  test("is behind the newest message, or in front of the oldest open request", () => {
    expect(startPosition(endpoint, state(), "open", undefined)).toMatchObject({ lastEventId: "90", past: 90 });
    const open = state({ awaiting: new Set([40, 70]) });
    expect(startPosition(endpoint, open, "open", undefined)).toMatchObject({ lastEventId: "39", past: 90 });
    expect(startPosition(endpoint, open, "none", undefined)).toMatchObject({ lastEventId: "90", past: 90 });
    expect(startPosition(endpoint, open, "all", undefined)).toMatchObject({
      lastEventId: undefined,
      past: 0,
      known: 90,
    });
    expect(startPosition(endpoint, open, "open", "60")).toMatchObject({ lastEventId: "39", past: 60 });
    expect(startPosition(endpoint, open, "open", "30")).toMatchObject({ lastEventId: "30", past: 30 });
  });

  test("is now where the server does not tell what there is", () => {
    const now = startPosition(endpoint, "unknown", "open", undefined);
    expect(now).toMatchObject({ isRunning: true, url: "http://host/base/v1/acp/my.id~1?key=1&replay=none" });
    expect(startPosition(endpoint, "unknown", "open", "30")).toMatchObject({ url: endpoint.url, lastEventId: "30" });
    expect(startPosition(endpoint, "unknown", "all", undefined).url).toBe(endpoint.url);
  });
});
