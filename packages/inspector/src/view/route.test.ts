import { expect, test } from "vitest";
import { formatRoute, parseRoute, type Route } from "./route.ts";

test.each<Route>([
  { kind: "home" },
  { kind: "server", tab: "files" },
  { kind: "instance", serverId: "a.b~c", tab: "raw" },
  { kind: "instance", serverId: "a", tab: "chat", session: "x/y z%" },
])("a route survives a round trip through the URL: %o", (route) => {
  expect(parseRoute(formatRoute(route))).toEqual(route);
});

test("an unknown fragment is the start view", () => {
  for (const fragment of ["", "#", "#/nowhere", "#/i/", "#%", "#token"])
    expect(parseRoute(fragment)).toEqual({ kind: "home" });
});
