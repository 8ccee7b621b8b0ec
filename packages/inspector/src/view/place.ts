/** Where in the page one is, kept in the address' fragment so that a reload comes back to it. */

import { useMemo, useSyncExternalStore } from "react";

export const INSTANCE_TABS = ["chat", "raw"] as const;
export const SERVER_TABS = ["files", "config", "agents", "server"] as const;

export type InstanceTab = (typeof INSTANCE_TABS)[number];
export type ServerTab = (typeof SERVER_TABS)[number];

/** A place: something of an instance, or of the server. */
export type Place =
  | { readonly kind: "home" }
  | { readonly kind: "instance"; readonly serverId: string; readonly tab: InstanceTab; readonly session?: string }
  | { readonly kind: "server"; readonly tab: ServerTab };

/** Reads `#/i/<id>/<tab>/<session>` and `#/<tab>`. */
export function parsePlace(fragment: string): Place {
  const [first = "", ...rest] = fragment.replace(/^#\/?/, "").split("/").map(decoded);
  if (first === "i" && rest[0]) {
    const tab = INSTANCE_TABS.find((known) => known === rest[1]) ?? "chat";
    return { kind: "instance", serverId: rest[0], tab, ...(rest[2] && { session: rest[2] }) };
  }
  const tab = SERVER_TABS.find((known) => known === first);
  return tab ? { kind: "server", tab } : { kind: "home" };
}

export function formatPlace(place: Place): string {
  if (place.kind === "home") return "#/";
  if (place.kind === "server") return `#/${place.tab}`;
  const parts = ["i", place.serverId, place.tab, ...(place.session === undefined ? [] : [place.session])];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function go(place: Place): void {
  location.hash = formatPlace(place);
}

const subscribe = (onChange: () => void): (() => void) => {
  addEventListener("hashchange", onChange);
  return () => removeEventListener("hashchange", onChange);
};

export function usePlace(): Place {
  const fragment = useSyncExternalStore(subscribe, () => location.hash);
  return useMemo(() => parsePlace(fragment), [fragment]);
}
