/** What all views need: the server that the page is connected to. */

import { createContext, useContext, useSyncExternalStore } from "react";
import type { JournalStore, Snapshot } from "../journal/store.ts";
import type { Api } from "../server/api.ts";
import type { Commands } from "../server/commands.ts";
import type { Target } from "../server/target.ts";

export interface Workbench {
  readonly target: Target;
  readonly journal: JournalStore;
  readonly commands: Commands;
  readonly api: Api;
  readonly workspace: string;
}

export const WorkbenchContext = createContext<Workbench | undefined>(undefined);

export function useWorkbench(): Workbench {
  const workbench = useContext(WorkbenchContext);
  if (!workbench) throw new Error("outside of a workbench");
  return workbench;
}

export function useSnapshot(): Snapshot {
  const { journal } = useWorkbench();
  return useSyncExternalStore(journal.subscribe, journal.snapshot);
}
