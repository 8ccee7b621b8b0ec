/** HTTP calls to the inspected server that do not use the SDK: for its health, and to send messages to agents. */

import { AcpTransportError } from "acp-http-client";
import * as transport from "acp-http-client/internal";
import type { Target } from "./target.ts";

/** What a call sends, besides its path. */
export interface Call {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
}

/** Makes a call. Throws `AcpHttpError` for an error status, and `AcpTransportError` when there is no response. */
export type Http = (path: string, call?: Call) => Promise<Response>;

/** Makes a function that makes calls to a server. */
export function createHttp({ base, token }: Target): Http {
  const send = transport.createHttp({ token });
  return async (path, { method = "GET", query = {}, headers = {}, json } = {}) => {
    const url = new URL(path, base);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    const response = await send(url, {
      method,
      headers: { ...(json !== undefined && { "Content-Type": "application/json" }), ...headers },
      body: json === undefined ? undefined : JSON.stringify(json),
    }).catch((cause: unknown) => {
      const hint = "is it running, and does it allow this page (--cors-allow-origin)?";
      throw new AcpTransportError("unreachable", `no answer from ${base}: ${hint}`, { cause });
    });
    if (!response.ok) throw await transport.httpErrorOf(response);
    return response;
  };
}

/** The text to show for an error: the detail of the server's problem document or, without one, the error's message. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { detail } = transport.objectOf("problem" in error ? error.problem : undefined);
  return transport.textOf(detail) ?? error.message;
}
