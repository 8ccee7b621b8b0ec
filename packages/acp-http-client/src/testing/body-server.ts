/**
 * A minimal server: it ignores `Prefer` and `Idempotency-Key`, answers a request in the body of its POST when the agent
 * has answered, and offers no list of instances. Whether its event stream also has the agent's responses is an option.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { BINARY } from "../../../testing/program.ts";

/** A running server. */
export interface BodyServer {
  readonly url: string;
  /** The bodies of all POSTs, in order of arrival. */
  readonly posted: string[];
  stop(): Promise<void>;
}

/** How the server behaves. */
export interface BodyServerOptions {
  /** Where a response from the agent appears, and in which order. */
  readonly responses: "body" | "body, then stream" | "stream, then body";
  /** Delays what the event stream delivers. Default: 0. */
  readonly streamDelayMs?: number;
}

interface Instance {
  readonly agent: ChildProcessWithoutNullStreams;
  readonly waiting: Map<string, (line: string) => void>;
  /** The frames of the event stream so far. */
  readonly frames: string[];
  readonly readers: Set<ServerResponse>;
}

/** How much later the second of two copies of a response is sent. */
const APART_MS = 200;

/** Starts a server. */
export async function startBodyServer(options: BodyServerOptions): Promise<BodyServer> {
  const instances = new Map<string, Instance>();
  const posted: string[] = [];

  const launch = (id: string): Instance => {
    const agent = spawn(BINARY, ["mock-agent"], { stdio: "pipe" });
    const instance: Instance = { agent, waiting: new Map(), frames: [], readers: new Set() };
    instances.set(id, instance);
    const stream = (line: string, delayMs: number): void => {
      setTimeout(() => {
        const frame = `event: message\nid: ${instance.frames.length + 1}\ndata: ${line}\n\n`;
        instance.frames.push(frame);
        for (const reader of instance.readers) reader.write(frame);
      }, delayMs);
    };
    const { streamDelayMs = 0, responses } = options;
    createInterface({ input: agent.stdout }).on("line", (line) => {
      const message = JSON.parse(line) as { id?: unknown; method?: string };
      if (message.method !== undefined) {
        stream(line, streamDelayMs);
        return;
      }
      const key = JSON.stringify(message.id);
      const isStreamFirst = responses === "stream, then body";
      if (responses !== "body") stream(line, isStreamFirst ? 0 : APART_MS);
      setTimeout(() => instance.waiting.get(key)?.(line), isStreamFirst ? APART_MS : 0);
    });
    return instance;
  };

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(incoming.url ?? "/", "http://localhost");
    const id = /^\/v1\/acp\/(.+)$/.exec(pathname)?.[1];
    const known = id === undefined ? undefined : instances.get(id);
    if (incoming.method === "POST" && id !== undefined && (known || searchParams.has("agent"))) {
      const { agent, waiting } = known ?? launch(id);
      const body = await readAll(incoming);
      posted.push(body);
      agent.stdin.write(`${body}\n`);
      const message = JSON.parse(body) as { id?: unknown; method?: string };
      if (message.method === undefined || message.id === undefined) {
        outgoing.writeHead(202).end();
        return;
      }
      waiting.set(JSON.stringify(message.id), (line) => {
        outgoing.writeHead(200, { "content-type": "application/json" }).end(line);
      });
    } else if (incoming.method === "GET" && known) {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      const last = Number(incoming.headers["last-event-id"] ?? 0);
      outgoing.write(`: open\n\n${known.frames.slice(last).join("")}`);
      known.readers.add(outgoing);
      outgoing.on("close", () => known.readers.delete(outgoing));
    } else if (incoming.method === "DELETE" && known) {
      instances.delete(id ?? "");
      known.agent.kill();
      outgoing.writeHead(204).end();
      for (const reader of known.readers) reader.end();
    } else {
      outgoing.writeHead(404).end();
    }
  };

  const server = createServer((incoming, outgoing) => void handle(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posted,
    stop: () =>
      new Promise((resolve) => {
        for (const { agent } of instances.values()) agent.kill();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readAll(stream: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}
