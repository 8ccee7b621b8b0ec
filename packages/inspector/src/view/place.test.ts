import { expect, test } from "vitest";
import { formatPlace, type Place, parsePlace } from "./place.ts";

test.each<Place>([
  { kind: "home" },
  { kind: "server", tab: "files" },
  { kind: "instance", serverId: "a.b~c", tab: "raw" },
  { kind: "instance", serverId: "a", tab: "chat", session: "x/y z%" },
])("a place comes back from the address: %o", (place) => {
  expect(parsePlace(formatPlace(place))).toEqual(place);
});

test("an address that means nothing is the beginning", () => {
  for (const odd of ["", "#", "#/nowhere", "#/i/", "#%", "#token"]) expect(parsePlace(odd)).toEqual({ kind: "home" });
});
