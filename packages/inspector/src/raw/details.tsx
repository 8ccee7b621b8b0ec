/** One event in full. If it is a request or a response, a button shows the other one of the pair. */

import { useState } from "react";
import type { WatchedInstance } from "../journal/apply-event.ts";
import type { JournalEvent } from "../journal/event.ts";
import { Code } from "../text/code.tsx";
import { CopyButton } from "../text/copy.tsx";
import { LongText } from "../text/long-text.tsx";
import { pretty } from "../text/pretty.ts";
import { rowOf } from "./event-row.ts";

interface DetailsProps {
  readonly event: JournalEvent;
  readonly watched: WatchedInstance;
  onChoose(index: number): void;
  onClose(): void;
}

export function Details({ event, watched, onChoose, onClose }: DetailsProps): React.ReactNode {
  const [isPretty, setIsPretty] = useState(true);
  const peer = watched.pairs.peerOf(event.index);
  const { summary, direction } = rowOf(event, watched.pairs);
  const text = isPretty ? pretty(event.data) : JSON.stringify(event.data);
  return (
    <section className="raw-details" aria-label="Event">
      <div className="raw-bar">
        <strong className="ellipsis">{summary}</strong>
        <small className="muted">
          {direction}
          {event.number !== undefined && ` · event ${event.number}`}
        </small>
        {peer && (
          <button type="button" onClick={() => onChoose(peer.index)}>
            {peer.index > event.index ? "Show response" : "Show request"}
            {peer.latencyMs !== undefined && ` (${peer.latencyMs} ms)`}
          </button>
        )}
        <label className="check">
          <input type="checkbox" checked={isPretty} onChange={(event) => setIsPretty(event.target.checked)} /> Pretty
        </label>
        <CopyButton text={() => text} />
        <button type="button" className="icon" aria-label="Close event" onClick={onClose}>
          ×
        </button>
      </div>
      <LongText
        key={event.index}
        text={text}
        show={(part) => <Code className={isPretty ? "" : "wrap"} text={part} language="json" />}
      />
    </section>
  );
}
