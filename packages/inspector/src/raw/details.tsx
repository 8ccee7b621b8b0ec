/** One line, whole, and the way to its other half. */

import { useState } from "react";
import type { JournalEvent } from "../journal/event.ts";
import type { Watched } from "../journal/fold.ts";
import { Code } from "../text/code.tsx";
import { CopyButton } from "../text/copy.tsx";
import { pretty } from "../text/json.tsx";
import { Long } from "../text/long.tsx";
import { describe } from "./describe.ts";

interface DetailsProps {
  readonly line: JournalEvent;
  readonly watched: Watched;
  onChoose(index: number): void;
  onClose(): void;
}

export function Details({ line, watched, onChoose, onClose }: DetailsProps): React.ReactNode {
  const [isPretty, setIsPretty] = useState(true);
  const peer = watched.pairs.peerOf(line.index);
  const { what, direction } = describe(line, watched.pairs);
  const text = isPretty ? pretty(line.data) : JSON.stringify(line.data);
  return (
    <section className="raw-details" aria-label="Line">
      <div className="raw-bar">
        <strong className="ellipsis">{what}</strong>
        <small className="muted">
          {direction}
          {line.event !== undefined && ` · event ${line.event}`}
        </small>
        {peer && (
          <button type="button" onClick={() => onChoose(peer.index)}>
            {peer.index > line.index ? "Its answer" : "Its request"}
            {peer.latencyMs !== undefined && ` (${peer.latencyMs} ms)`}
          </button>
        )}
        <label className="check">
          <input type="checkbox" checked={isPretty} onChange={(event) => setIsPretty(event.target.checked)} /> Pretty
        </label>
        <CopyButton text={() => text} />
        <button type="button" className="icon" aria-label="Close line" onClick={onClose}>
          ×
        </button>
      </div>
      <Long
        key={line.index}
        text={text}
        show={(part) => <Code className={isPretty ? "" : "wrap"} text={part} language="json" />}
      />
    </section>
  );
}
