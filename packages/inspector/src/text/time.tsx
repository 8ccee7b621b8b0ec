/** Shows when something happened and how long it took. */

import { clockText } from "./clock.ts";
import { durationText } from "./duration.ts";

interface Props {
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
}

export function Times({ fromMs, toMs }: Props): React.ReactNode {
  if (fromMs === undefined) return null;
  const at = new Date(fromMs);
  return (
    <small className="times muted">
      <time dateTime={at.toISOString()} title={at.toLocaleString()}>
        {clockText(at, new Date())}
      </time>
      {toMs !== undefined && (
        <>
          <span aria-hidden="true"> · </span>
          <span title={`From ${at.toLocaleString()}`}>{durationText(Math.max(0, toMs - fromMs))}</span>
        </>
      )}
    </small>
  );
}
