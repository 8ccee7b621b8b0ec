/** A proxy that puts the server below a path, as gateways do. */

import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface Prefixed {
  readonly base: string;
  /** Cuts all connections and takes no new ones, until it is told to go on. */
  cut(): void;
  goOn(): void;
  stop(): Promise<void>;
}

/** Serves what `target` serves at `/`, below `prefix`. Anything outside the prefix is not there. */
export async function behindPrefix(target: string, prefix: string): Promise<Prefixed> {
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
    // Streams are open for as long as somebody listens.
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
    goOn() {
      isCut = false;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
