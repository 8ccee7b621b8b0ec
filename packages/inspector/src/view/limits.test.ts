import { expect, test } from "vitest";
import { limitTexts } from "./limits.ts";

test("limits have names and units", () => {
  const limits = {
    maxMessageBytes: 32 << 20,
    replayEvents: 65_536,
    memoryBudget: 2 ** 30,
    requestTimeoutMs: 3_600_000,
    closeGraceMs: 500,
    maxUploadBytes: null,
    somethingNew: 7,
  };
  expect(limitTexts({ limits })).toEqual([
    ["Max message", "32 MiB"],
    ["Replay events", "65,536"],
    ["Memory budget", "1 GiB"],
    ["Request timeout", "1 h"],
    ["Close grace", "500 ms"],
    ["Max upload", "none"],
    ["Something new", "7"],
  ]);
});

test("nothing is listed for a server that reports no limits", () => {
  expect(limitTexts({ status: "ok" })).toEqual([]);
  expect(limitTexts(undefined)).toEqual([]);
});
