import { expect, test } from "vitest";
import { initialTarget, ownServer, parseServer, readFragment, storeTarget, type TargetStorage } from "./target.ts";

function memory(): TargetStorage {
  const held = new Map<string, string>();
  return {
    getItem: (key) => held.get(key) ?? null,
    setItem: (key, value) => void held.set(key, value),
    removeItem: (key) => void held.delete(key),
  };
}

const PAGE = "https://host/some/prefix/ui/";

test("the page's own server is one level up, behind any path prefix", () => {
  expect(ownServer(PAGE)).toBe("https://host/some/prefix/");
  expect(ownServer("http://127.0.0.1:2468/ui/index.html?x=1#/a/b")).toBe("http://127.0.0.1:2468/");
});

test("an address is parsed as people write it", () => {
  expect(parseServer("", PAGE)).toBe("https://host/some/prefix/");
  expect(parseServer("127.0.0.1:2468", PAGE)).toBe("http://127.0.0.1:2468/");
  expect(parseServer("http://box:1/ui/", PAGE)).toBe("http://box:1/");
  expect(parseServer("http://box:1/p/v1/acp", PAGE)).toBe("http://box:1/p/");
  expect(parseServer("ftp://box", PAGE)).toBeUndefined();
  expect(parseServer("http://", PAGE)).toBeUndefined();
});

test("the fragment may contain a token, and a route is not one", () => {
  expect(readFragment("#token=a%2Bb&server=http://x")).toEqual({ token: "a+b", server: "http://x" });
  expect(readFragment("#/instance/token=x")).toEqual({});
  expect(readFragment("")).toEqual({});
});

test("the stored target is used after a reload, and the fragment takes precedence", () => {
  const keep = memory();
  storeTarget({ base: "http://other/", token: "kept" }, PAGE, keep);
  expect(initialTarget(PAGE, keep)).toEqual({ base: "http://other/", token: "kept" });
  expect(initialTarget(`${PAGE}#token=new`, keep)).toEqual({ base: "http://other/", token: "new" });
});

test("a stored token is not sent to another server that a link names", () => {
  const keep = memory();
  storeTarget({ base: ownServer(PAGE), token: "secret" }, PAGE, keep);
  expect(initialTarget(`${PAGE}#server=http://evil/`, keep)).toEqual({ base: "http://evil/", token: undefined });
});
