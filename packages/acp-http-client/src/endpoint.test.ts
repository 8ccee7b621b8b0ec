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
  test("yields the instance's id, the URL of the list, and a URL that starts no agent", () => {
    expect(endpoint).toEqual({
      serverId: "my.id~1",
      bootstrapUrl: "http://host/base/v1/acp/my.id~1?agent=mock&key=1",
      url: "http://host/base/v1/acp/my.id~1?key=1",
      listUrl: "http://host/base/v1/acp?key=1",
    });
  });
});

describe("the start position", () => {
  test("is the first message of an instance that does not exist yet", () => {
    for (const replay of ["open", "all", "none"] as const) {
      expect(startPosition(endpoint, "absent", replay, undefined)).toMatchObject({
        isRunning: false,
        lastEventId: undefined,
        past: 0,
        url: endpoint.url,
      });
    }
  });

  test("is after the newest message, or before the oldest open request", () => {
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

  test("is the present if the server does not offer the list", () => {
    const now = startPosition(endpoint, "unknown", "open", undefined);
    expect(now).toMatchObject({ isRunning: true, url: "http://host/base/v1/acp/my.id~1?key=1&replay=none" });
    expect(startPosition(endpoint, "unknown", "open", "30")).toMatchObject({ url: endpoint.url, lastEventId: "30" });
    expect(startPosition(endpoint, "unknown", "all", undefined).url).toBe(endpoint.url);
  });
});
