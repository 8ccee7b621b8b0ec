/** Hands events to whoever listens, and to the store behind them. Listening never waits for the store. */

import type { SandboxEvent } from "../events.ts";
import type { SessionStore, StoredSession } from "../store/types.ts";

/** Which events to get. */
export interface EventFilter {
  /** Only those of this session. */
  readonly sessionId?: string;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/** Tells and keeps. */
export interface Recorder {
  /** Tells an event to listeners and keeps it. */
  emit(event: SandboxEvent): void;
  /** Keeps an event without telling it. */
  store(event: SandboxEvent): void;
  /** Tells an event without keeping it. */
  notify(event: SandboxEvent): void;
  /** Keeps the state of a session. */
  save(session: StoredSession): void;
  /** Listens until the returned function is called. */
  listen(listener: (event: SandboxEvent) => void): () => void;
  /** Events from now on. */
  stream(filter?: EventFilter): AsyncGenerator<SandboxEvent, void, void>;
  /** Resolves when everything so far is kept. */
  flush(): Promise<void>;
  /** Ends all streams. */
  end(): void;
}

/** Makes a recorder. `onFailure` hears when the store fails; what it refused is not tried again. */
export function createRecorder(store: SessionStore, onFailure: (error: unknown) => void): Recorder {
  const listeners = new Set<(event: SandboxEvent) => void>();
  const activeStreams = new Set<() => void>();
  let sessions = new Map<string, StoredSession>();
  let events = new Map<string, SandboxEvent[]>();
  let writing: Promise<void> | undefined;

  const writeAll = async (): Promise<void> => {
    while (sessions.size > 0 || events.size > 0) {
      const [changed, pending] = [sessions, events];
      sessions = new Map();
      events = new Map();
      for (const session of changed.values()) await attempt(() => store.putSession(session));
      for (const [id, list] of pending) await attempt(() => store.appendEvents(id, list));
    }
  };
  /** A store of the caller's own may also throw instead of rejecting. */
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      onFailure(error);
    }
  };
  const write = (): void => {
    writing ??= Promise.resolve()
      .then(writeAll)
      .finally(() => {
        writing = undefined;
      });
  };

  const recorder: Recorder = {
    emit(event) {
      recorder.store(event);
      recorder.notify(event);
    },
    store(event) {
      const list = events.get(event.sessionId);
      if (list) list.push(event);
      else events.set(event.sessionId, [event]);
      write();
    },
    notify(event) {
      for (const listener of [...listeners]) {
        try {
          listener(event);
        } catch (error) {
          // A listener's mistake is the listener's, as with any event; the connection is not to suffer for it.
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    },
    save(session) {
      sessions.set(session.id, session);
      write();
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stream({ sessionId, signal } = {}) {
      let queue: SandboxEvent[] = [];
      let isOver = false;
      let wake = (): void => {};
      // From the call on, and not from the first look: what happens in between is in the stream, too.
      const stopListening = recorder.listen((event) => {
        if (sessionId !== undefined && event.sessionId !== sessionId) return;
        queue.push(event);
        wake();
      });
      const end = (): void => {
        isOver = true;
        activeStreams.delete(end);
        stopListening();
        signal?.removeEventListener("abort", end);
        wake();
      };
      activeStreams.add(end);
      if (signal?.aborted) end();
      else signal?.addEventListener("abort", end, { once: true });
      async function* read(): AsyncGenerator<SandboxEvent, void, void> {
        for (;;) {
          const batch = queue;
          queue = [];
          yield* batch;
          if (queue.length > 0) continue;
          if (isOver) return;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
      const events = read();
      const leave = events.return.bind(events);
      events.return = (value) => {
        end();
        return leave(value);
      };
      return events;
    },
    async flush() {
      while (writing) await writing;
    },
    end() {
      for (const end of [...activeStreams]) end();
    },
  };
  return recorder;
}
