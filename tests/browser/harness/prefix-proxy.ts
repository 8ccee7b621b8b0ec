/** A proxy that serves the server below a path prefix, as gateways do. */

import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface PrefixProxy {
  readonly base: string;
  /** Closes all connections and refuses new ones until `resume()`. */
  cut(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** Serves `target` below `prefix`. Paths outside the prefix get 404. */
export async function startPrefixProxy(target: string, prefix: string): Promise<PrefixProxy> {
  const { hostname, port } = new URL(target);
  let isCut = false;
  const server = createServer((incoming, outgoing) => {
    if (isCut) {
      incoming.destroy();
      return;
    }
    const path = incoming.url ?? "/";
    if (!path.startsWith(`${prefix}/`)) {
      outgoing.writeHead(404).end("outside of the prefix");
      return;
    }
    const { origin: _, ...headers } = incoming.headers;
    const options = {
      hostname,
      port,
      method: incoming.method,
      path: path.slice(prefix.length),
      headers: { ...headers, host: `${hostname}:${port}` },
    };
    const forwarded = request(options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on("error", () => outgoing.destroy());
    // Event streams stay open until the client disconnects.
    outgoing.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port: own } = server.address() as AddressInfo;
  return {
    base: `http://127.0.0.1:${own}${prefix}`,
    cut() {
      isCut = true;
      server.closeAllConnections();
    },
    resume() {
      isCut = false;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
