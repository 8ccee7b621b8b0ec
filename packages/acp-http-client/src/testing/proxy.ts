/** A proxy between client and server that behaves as badly as networks do, on request. */

import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** What to do to one request. */
export interface Fault {
  /** Hang up before the server hears of it. */
  readonly drop?: true;
  /** Let the server do it, then hang up instead of passing its answer on. */
  readonly dropResponse?: true;
  /** Answer in the server's place. */
  readonly answer?: { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };
  /** Hang up after so many bytes of the answer's body. */
  readonly cutAfter?: number;
  /** Hang up where the answer ends. */
  readonly cutAtEnd?: true;
  /** Pass so many bytes of the answer's body on, then nothing, without hanging up. */
  readonly freezeAfter?: number;
  /** Pass each piece on this much later. */
  readonly delayMs?: number;
  /** Hold pieces back and pass them on together, so often. */
  readonly bufferMs?: number;
}

/** What the proxy saw of one request. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A running proxy. */
export interface TestProxy {
  readonly url: string;
  /** Everything that came, in order. */
  readonly seen: SeenRequest[];
  /** Decides about each request; change it at any time. */
  plan: (seen: SeenRequest) => Fault;
  /** Where requests go; change it when the server moves. */
  upstream: string;
  /** Hangs up on every event stream there is. */
  cutStreams(): void;
  stop(): Promise<void>;
}

/** Starts a proxy in front of a server. */
export async function startProxy(upstream: string): Promise<TestProxy> {
  const sockets = new Set<Socket>();
  const streams = new Set<ServerResponse>();
  const server = createServer((incoming, outgoing) => {
    if (incoming.headers.accept === "text/event-stream") {
      streams.add(outgoing);
      outgoing.on("close", () => streams.delete(outgoing));
    }
    void handle(proxy, incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: TestProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    plan: () => ({}),
    upstream,
    cutStreams() {
      for (const stream of streams) stream.destroy();
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return proxy;
}

async function handle(proxy: TestProxy, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const body = await readAll(incoming);
  const path = incoming.url ?? "/";
  const seen: SeenRequest = {
    method: incoming.method ?? "GET",
    path,
    headers: incoming.headers,
    body: body.toString(),
  };
  proxy.seen.push(seen);
  const fault = proxy.plan(seen);
  if (fault.drop) {
    outgoing.destroy();
    return;
  }
  if (fault.answer) {
    const { status, headers = {}, body: text = "" } = fault.answer;
    outgoing.writeHead(status, headers).end(text);
    return;
  }
  const answer = await forward(proxy.upstream + path, incoming, body, outgoing);
  if (fault.dropResponse) {
    await readAll(answer);
    outgoing.destroy();
    return;
  }
  outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
  outgoing.flushHeaders();
  await pass(answer, outgoing, fault);
}

async function pass(answer: IncomingMessage, outgoing: ServerResponse, fault: Fault): Promise<void> {
  let passed = 0;
  let held: Buffer[] = [];
  const flush = (): void => {
    if (held.length > 0) outgoing.write(Buffer.concat(held));
    held = [];
  };
  const timer = fault.bufferMs === undefined ? undefined : setInterval(flush, fault.bufferMs);
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      if (fault.delayMs !== undefined) await delay(fault.delayMs);
      const room = Math.min(fault.cutAfter ?? Infinity, fault.freezeAfter ?? Infinity) - passed;
      held.push(piece.subarray(0, Math.max(0, Math.min(piece.length, room))));
      passed += piece.length;
      if (timer === undefined) flush();
      if (passed >= (fault.cutAfter ?? Infinity)) break;
    }
    flush();
    if (fault.cutAtEnd || passed >= (fault.cutAfter ?? Infinity)) await closeAfterFlush(outgoing);
    else outgoing.end();
  } catch {
    outgoing.destroy();
  } finally {
    clearInterval(timer);
  }
}

/** What was written leaves first. */
async function closeAfterFlush(outgoing: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => outgoing.write("", () => resolve()));
  outgoing.destroy();
}

function forward(
  url: string,
  incoming: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { host: _, ...headers } = incoming.headers;
    const upstream = request(url, { method: incoming.method, headers, agent: false }, resolve);
    upstream.on("error", reject);
    outgoing.on("close", () => upstream.destroy());
    upstream.end(body);
  });
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}
