/** Records all messages between the server and one agent, in both directions. */

import { type WatchedEvent, watchAcpServers } from "../harness/sdk.ts";

/** The fields of a JSON-RPC message that the matrix uses. */
export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code?: number; readonly message?: string };
}

/** An entry of the journal. */
export interface Entry {
  readonly serverId: string;
  readonly type: "message" | "sent" | "unparsed" | "exit" | "gap" | "failed" | "answered";
  readonly data: unknown;
}

/** A running journal. */
export interface Journal {
  readonly entries: readonly Entry[];
  /** The messages of one instance. `from` is the index of the first entry to look at. */
  messages(serverId: string, from?: number): readonly { readonly type: Entry["type"]; readonly message: Message }[];
  /** True once the journal has every entry of every instance, because it has received the end of each of them. */
  isComplete(): boolean;
  /** The error that ended the journal. */
  failure(): unknown;
  stop(): void;
}

const KEPT: readonly string[] = ["message", "sent", "unparsed", "exit", "gap", "failed", "answered"];

/** Watches all instances of a server, including those that are created later. */
export function openJournal(server: { readonly url: string; readonly token: string }): Journal {
  const entries: Entry[] = [];
  const open = new Set<string>();
  const stopping = new AbortController();
  let failure: unknown;
  const events = watchAcpServers(`${server.url}/v1/acp`, {
    token: server.token,
    view: "journal",
    signal: stopping.signal,
  });
  const read = async (): Promise<void> => {
    for await (const event of events) {
      if (event.type === "opened") open.add(event.data.serverId);
      else if (event.type === "closed") open.delete(event.data.serverId);
      else if (isKept(event)) entries.push(event as Entry);
    }
  };
  read().catch((error: unknown) => {
    failure = error;
  });
  return {
    entries,
    messages: (serverId, from = 0) =>
      entries
        .slice(from)
        .filter((entry) => entry.serverId === serverId && (entry.type === "message" || entry.type === "sent"))
        .map(({ type, data }) => ({ type, message: data as Message })),
    isComplete: () => open.size === 0,
    failure: () => failure,
    stop: () => stopping.abort(),
  };
}

function isKept({ type, serverId }: WatchedEvent): boolean {
  return serverId !== undefined && KEPT.includes(type);
}

/** Returns the chunks of an agent's messages in one session. */
export function chunksOf(journal: Journal, serverId: string, sessionId: string, from: number): readonly string[] {
  return journal.messages(serverId, from).flatMap(({ type, message }) => {
    if (type !== "message" || message.method !== "session/update") return [];
    const { params } = message;
    const update = params?.update as { sessionUpdate?: string; content?: { text?: string } } | undefined;
    const isMine = params?.sessionId === sessionId && update?.sessionUpdate === "agent_message_chunk";
    return isMine ? [update.content?.text ?? ""] : [];
  });
}
