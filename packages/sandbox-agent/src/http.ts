/**
 * Makes HTTP calls to the server. Paths are relative to the server's base URL, and a problem document becomes an
 * {@link HttpError}.
 */

import type { TokenSource } from "acp-http-client";
import * as transport from "acp-http-client/internal";
import type { ServerPath } from "./api/document.ts";
import { ConnectionLostError, HttpError, SandboxAgentError } from "./errors.ts";

export type { RetryOptions, TokenSource } from "acp-http-client";

/** Where the server is and how to reach it. */
export interface ServerOptions {
  /** The server's base URL, such as `http://127.0.0.1:2468`. In a browser, a path is enough. */
  readonly baseUrl: string;
  /** The server's token, or a function that returns it. The function is called again after a 401. */
  readonly token?: TokenSource;
  /** Headers that are sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The function that is used instead of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** What a call sends, besides its path. */
export interface HttpCall {
  /** The method. Default: `GET`. */
  readonly method?: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Query parameters. Those that are `undefined` or `null` are not sent. */
  readonly query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  /** A body to send as JSON. */
  readonly json?: unknown;
  /** A body to send as it is. */
  readonly body?: transport.HttpBody;
  /** Headers of this call. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborts the call. */
  readonly signal?: AbortSignal | undefined;
}

/** Makes calls to one server. */
export interface Http {
  /** Makes a call; throws unless the response is a success. */
  request(path: ServerPath, call?: HttpCall): Promise<Response>;
  /** Makes a call and parses the response as JSON. */
  json<T>(path: ServerPath, call?: HttpCall): Promise<T>;
}

/** Returns an object that makes calls to the server with these options. */
export function createHttp(options: ServerOptions): Http {
  const root = options.baseUrl.replace(/\/+$/, "");
  const send = transport.createHttp(options);

  const request = async (path: ServerPath, call: HttpCall = {}): Promise<Response> => {
    // In a browser, the base URL may be a path.
    const url = new URL(root + path, (globalThis as { location?: { href: string } }).location?.href);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    }
    const { method = "GET", json, body, headers, signal } = call;
    const sending = send(url, {
      method,
      headers: { ...(json !== undefined && { "Content-Type": "application/json" }), ...headers },
      body: json === undefined ? body : JSON.stringify(json),
      signal,
    });
    const response = await withTypedErrors(sending, signal);
    if (!response.ok) throw new HttpError(await transport.httpErrorOf(response));
    return response;
  };

  return {
    request,
    async json<T>(path: ServerPath, call: HttpCall = {}): Promise<T> {
      const headers = { Accept: "application/json", ...call.headers };
      return jsonOf<T>(await request(path, { ...call, headers }), call.signal);
    },
  };
}

/** Parses a response as JSON. */
export async function jsonOf<T>(response: Response, signal?: AbortSignal): Promise<T> {
  const text = await withTypedErrors(response.text(), signal);
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    const message = `${response.url} did not answer with JSON: is this the server's address?`;
    throw new SandboxAgentError("not_understood", message, { cause: error });
  }
}

/** Turns a network failure into {@link ConnectionLostError}. If the signal was aborted, throws its reason instead. */
export async function withTypedErrors<T>(pending: Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await pending;
  } catch (error) {
    signal?.throwIfAborted();
    const { message, cause } = error instanceof Error ? error : new Error(String(error));
    const why = cause instanceof Error && cause.message !== "" ? cause.message : message;
    throw new ConnectionLostError(`the server cannot be reached: ${why}`, { cause: error });
  }
}
