/** Messages between the reader of the event stream and whoever reads the `Stream`. */

import type { AnyMessage } from "@agentclientprotocol/sdk";

/** From this many unread messages on, the event stream is not read any further. */
const FULL = 1024;

/** A queue with an end. */
export interface MessageQueue {
  push(message: AnyMessage): void;
  /** What was pushed is still read; then comes the error. */
  end(error: Error): void;
  /** Resolves when there is room for more. */
  room(): Promise<void>;
  /** The side to read from. */
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
        // Nothing is taken ahead: an error would throw away what the stream itself had queued.
        { highWaterMark: 0 },
      ),
  };
}
