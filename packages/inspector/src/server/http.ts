/** Bare calls to the server that is looked at: whether it is there, and what is sent to agents. */

import { problemOf, ServerProblem } from "./problem.ts";
import type { Target } from "./target.ts";

/** One call. */
export interface Call {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

/** Makes calls. Anything but a success is thrown as a {@link ServerProblem}. */
export type Http = (path: string, call?: Call) => Promise<Response>;

/** Binds calls to a server. */
export function createHttp({ base, token }: Target): Http {
  return async (path, { method = "GET", query = {}, headers = {}, json } = {}) => {
    const url = new URL(path, base);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    const response = await fetch(url, {
      method,
      headers: {
        ...(json !== undefined && { "Content-Type": "application/json" }),
        ...headers,
        ...(token && { Authorization: `Bearer ${token}` }),
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    }).catch(() => {
      const hint = "is it running, and does it allow this page (--cors-allow-origin)?";
      throw new ServerProblem(0, "unreachable", `no answer from ${base}: ${hint}`);
    });
    if (!response.ok) throw problemOf(response.status, await response.text().catch(() => ""));
    return response;
  };
}
