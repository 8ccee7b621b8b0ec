/** Detects a screen as narrow as a phone's. The style sheets use the same limit. */

import { useSyncExternalStore } from "react";

const NARROW = "(width < 760px)";

const subscribe = (onChange: () => void): (() => void) => {
  const query = matchMedia(NARROW);
  query.addEventListener("change", onChange);
  return () => query.removeEventListener("change", onChange);
};

export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => matchMedia(NARROW).matches);
}
