/** An asynchronous action that the user has started: whether it is running, and its error. */

import { useCallback, useState } from "react";
import { errorMessage } from "../server/http.ts";

export interface Task {
  readonly isBusy: boolean;
  readonly error: string | undefined;
  run(work: () => Promise<unknown>): void;
  clear(): void;
}

export function useTask(): Task {
  const [state, setState] = useState<{ busy: number; error: string | undefined }>({ busy: 0, error: undefined });
  const run = useCallback((work: () => Promise<unknown>) => {
    setState(({ busy }) => ({ busy: busy + 1, error: undefined }));
    work().then(
      () => setState((now) => ({ ...now, busy: now.busy - 1 })),
      (error: unknown) => setState((now) => ({ busy: now.busy - 1, error: errorMessage(error) })),
    );
  }, []);
  const clear = useCallback(() => setState((now) => ({ ...now, error: undefined })), []);
  return { isBusy: state.busy > 0, error: state.error, run, clear };
}
