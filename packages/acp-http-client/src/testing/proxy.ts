/** A proxy between client and server that injects network faults. */

import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** The fault to inject into one request. */
export interface Fault {
  /** Close the connection before the server receives the request. */
  readonly drop?: true;
  /** Forward the request, then close the connection instead of forwarding the response. */
  readonly dropResponse?: true;
  /** Respond instead of the server. */
  readonly answer?: { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };
  /** Close the connection after this many bytes of the response body. */
  readonly cutAfter?: number;
  /** Close the connection at the end of the response. */
  readonly cutAtEnd?: true;
  /** Forward this many bytes of the response body, then nothing, without closing the connection. */
  readonly freezeAfter?: number;
  /** Delay every chunk. */
  readonly delayMs?: number;
  /** Buffer chunks and forward them together at this interval. */
  readonly bufferMs?: number;
}

/** A request that the proxy received. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A running proxy. */
export interface TestProxy {
  readonly url: string;
  /** All requests, in order. */
  readonly seen: SeenRequest[];
  /** Decides about each request. May be replaced at any time. */
  plan: (seen: SeenRequest) => Fault;
  /** Where requests are forwarded to. May be replaced when the server moves. */
  upstream: string;
  /** Closes every event stream. */
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

/** Flushes what was written before it closes the connection. */
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
