/** A TCP proxy that cuts its connections when a test says so. It also counts requests with a `Last-Event-ID` header. */

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A running proxy. */
export interface CuttingProxy {
  readonly baseUrl: string;
  /** Closes every connection, even in the middle of a response. */
  cut(): void;
  /** While set, new connections are closed at once. */
  isRefusing: boolean;
  /** How many requests carried a `Last-Event-ID`. */
  resumptions(): number;
  stop(): Promise<void>;
}

/** Starts a proxy in front of a server. */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let resumptions = 0;
  const server = createServer((near) => {
    if (proxy.isRefusing) {
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    near.on("data", (bytes: Buffer) => {
      if (/^last-event-id: *\d/im.test(bytes.toString("latin1"))) resumptions += 1;
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  const proxy: CuttingProxy = {
    isRefusing: false,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    resumptions: () => resumptions,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
  return proxy;
}
