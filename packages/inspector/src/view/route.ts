/** The current view, stored in the URL fragment so that it survives a reload. */

import { useMemo, useSyncExternalStore } from "react";

export const INSTANCE_TABS = ["chat", "raw"] as const;
export const SERVER_TABS = ["files", "config", "agents", "server"] as const;

export type InstanceTab = (typeof INSTANCE_TABS)[number];
export type ServerTab = (typeof SERVER_TABS)[number];

/** A view of an instance or of the server. */
export type Route =
  | { readonly kind: "home" }
  | { readonly kind: "instance"; readonly serverId: string; readonly tab: InstanceTab; readonly session?: string }
  | { readonly kind: "server"; readonly tab: ServerTab };

/** Parses `#/i/<id>/<tab>/<session>` and `#/<tab>`. */
export function parseRoute(fragment: string): Route {
  const [first = "", ...rest] = fragment.replace(/^#\/?/, "").split("/").map(decoded);
  if (first === "i" && rest[0]) {
    const tab = INSTANCE_TABS.find((known) => known === rest[1]) ?? "chat";
    return { kind: "instance", serverId: rest[0], tab, ...(rest[2] && { session: rest[2] }) };
  }
  const tab = SERVER_TABS.find((known) => known === first);
  return tab ? { kind: "server", tab } : { kind: "home" };
}

export function formatRoute(route: Route): string {
  if (route.kind === "home") return "#/";
  if (route.kind === "server") return `#/${route.tab}`;
  const parts = ["i", route.serverId, route.tab, ...(route.session === undefined ? [] : [route.session])];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function go(route: Route): void {
  location.hash = formatRoute(route);
}

const subscribe = (onChange: () => void): (() => void) => {
  addEventListener("hashchange", onChange);
  return () => removeEventListener("hashchange", onChange);
};

export function useRoute(): Route {
  const fragment = useSyncExternalStore(subscribe, () => location.hash);
  return useMemo(() => parseRoute(fragment), [fragment]);
}
