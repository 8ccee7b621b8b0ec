/** Delivers events to listeners and writes them to the store. Listeners never wait for the store. */

import type { SandboxEvent } from "../events.ts";
import type { SessionStore, StoredSession } from "../store/types.ts";

/** Which events to receive. */
export interface EventFilter {
  /** The session whose events to receive. Default: all sessions. */
  readonly sessionId?: string;
  /** Ends the stream. */
  readonly signal?: AbortSignal;
}

/** Delivers and stores events. */
export interface Recorder {
  /** Delivers an event to the listeners and stores it. */
  emit(event: SandboxEvent): void;
  /** Stores an event without delivering it. */
  store(event: SandboxEvent): void;
  /** Delivers an event without storing it. */
  notify(event: SandboxEvent): void;
  /** Stores the record of a session. */
  save(session: StoredSession): void;
  /** Subscribes a listener until the returned function is called. */
  listen(listener: (event: SandboxEvent) => void): () => void;
  /** Streams events from now on. */
  stream(filter?: EventFilter): AsyncGenerator<SandboxEvent, void, void>;
  /** Resolves when everything that was passed in so far is stored. */
  flush(): Promise<void>;
  /** Ends all streams. */
  end(): void;
}

/** Makes a recorder. `onFailure` is called when the store fails; a failed write is not retried. */
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
    // Cleared in the same task as the check above, so that whatever arrives next starts another write.
    writing = undefined;
  };
  /** Awaits a call of the store. Catches exceptions, too: a caller's own store may throw instead of rejecting. */
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      onFailure(error);
    }
  };
  const write = (): void => {
    writing ??= Promise.resolve().then(writeAll);
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
          // An exception in a listener is the listener's bug: report it as uncaught, and keep the connection working.
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
      // Subscribes now and not when the stream is first read, so that it includes the events in between.
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
