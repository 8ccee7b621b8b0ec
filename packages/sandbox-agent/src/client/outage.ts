/** Reports when a connection is lost and when it is restored. A cut that is repaired quickly is not reported. */

import type { EventBody } from "../events.ts";

/** A cut that is not repaired within this time is reported. */
const REPORT_AFTER_MS = 1_000;

/** Watches one connection for an outage. */
export interface Outage {
  /** Call it when the event stream was cut, and when an attempt to reconnect has failed. */
  cut(error: unknown): void;
  /** Call it when the event stream is open. */
  opened(): void;
  /** Call it when the connection has ended: nothing more is reported. */
  end(): void;
}

/** Makes a watch for a connection that is open or being opened. */
export function createOutage(report: (body: EventBody) => void): Outage {
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** The attempts to reconnect since the cut; `undefined` while there is no outage. */
  let attempts: number | undefined;
  let message = "";
  let isReported = false;
  let isOver = false;

  const clear = (): void => {
    clearTimeout(timer);
    attempts = undefined;
    isReported = false;
  };
  const reportLost = (): void => {
    isReported = true;
    report({ type: "connection.lost", attempts: attempts ?? 0, message });
  };
  return {
    cut(error) {
      if (isOver) return;
      message = error instanceof Error ? error.message : String(error);
      if (attempts === undefined) timer = setTimeout(reportLost, REPORT_AFTER_MS);
      attempts = attempts === undefined ? 0 : attempts + 1;
    },
    opened() {
      if (isReported) report({ type: "connection.restored", attempts: (attempts ?? 0) + 1 });
      clear();
    },
    end() {
      isOver = true;
      clear();
    },
  };
}
