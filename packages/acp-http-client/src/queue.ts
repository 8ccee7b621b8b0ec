/** A bounded queue of messages between the code that reads the event stream and the reader of the SDK's `Stream`. */

import type { AnyMessage } from "@agentclientprotocol/sdk";

/** The event stream is not read while this many messages are unread. */
const FULL = 1024;

/** A queue that can end with an error. */
export interface MessageQueue {
  push(message: AnyMessage): void;
  /** Ends the queue: its reader still receives the messages that were pushed before, then the error. */
  end(error: Error): void;
  /** Resolves when the queue has room. */
  room(): Promise<void>;
  /** Returns a stream that takes messages out of the queue. */
  readable(onCancel: () => void): ReadableStream<AnyMessage>;
}

/** Makes an empty queue. */
export function createMessageQueue(): MessageQueue {
  const messages: AnyMessage[] = [];
  let ended: Error | undefined;
  let wakeReader = (): void => {};
  let wakeWriter = (): void => {};

  return {
    push(message) {
      messages.push(message);
      wakeReader();
    },
    end(error) {
      ended ??= error;
      wakeReader();
      wakeWriter();
    },
    async room() {
      while (messages.length >= FULL && !ended) {
        await new Promise<void>((resolve) => {
          wakeWriter = resolve;
        });
      }
    },
    readable: (cancel) =>
      new ReadableStream<AnyMessage>(
        {
          async pull(controller) {
            while (messages.length === 0 && !ended) {
              await new Promise<void>((resolve) => {
                wakeReader = resolve;
              });
            }
            const message = messages.shift();
            wakeWriter();
            if (message) controller.enqueue(message);
            else controller.error(ended);
          },
          cancel,
        },
        // A high-water mark of zero: an error would discard messages that the stream itself had buffered.
        { highWaterMark: 0 },
      ),
  };
}
