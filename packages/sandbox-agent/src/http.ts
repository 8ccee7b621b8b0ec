/** Plain HTTP calls to the server, with its token and its problems as errors. */

import type { ServerPath } from "./api/document.ts";
import { ConnectionLostError, HttpError, type Problem, SandboxAgentError } from "./errors.ts";
import { isObject } from "./json.ts";

/** A token, or where to get one. After a refusal the function is asked once more, with the token that was refused. */
export type TokenSource = string | ((refused: string | undefined) => string | Promise<string>);

/** The token in use; another one than the one that was refused. */
export type Tokens = (refused?: string) => Promise<string | undefined>;

/** Asks a source for its token, once for all who wait. */
export function createTokens(source: TokenSource | undefined): Tokens {
  let current: string | undefined;
  let asking: Promise<string> | undefined;
  return async (refused) => {
    if (typeof source !== "function") return source;
    if (current !== undefined && current !== refused) return current;
    asking ??= Promise.resolve(source(refused)).finally(() => {
      asking = undefined;
    });
    current = await asking;
    return current;
  };
}

/** How a client tries again after a failure that may pass. */
export interface RetryOptions {
  /** The first wait; it doubles with every failure in a row. 50 ms unless told. */
  readonly minMs?: number;
  /** The longest wait. 10 s unless told. */
  readonly maxMs?: number;
  /** After this long without success the client gives up. 2 minutes unless told; `Infinity` is for ever. */
  readonly giveUpMs?: number;
}

/** Where the server is and how it is reached. */
export interface ServerOptions {
  /** Where the server is, such as `http://127.0.0.1:2468`. In a browser a path will do. */
  readonly baseUrl: string;
  /** The server's token, or where to get one. After a refusal the function is asked once more. */
  readonly token?: TokenSource;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** One call. */
export interface HttpCall {
  /** `GET` unless told. */
  readonly method?: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Query parameters; `undefined` ones are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly body?: BodyInit;
  /** More headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined;
}

/** Makes calls to one server. */
export interface Http {
  /** A call; anything but a success is thrown. */
  request(path: ServerPath, call?: HttpCall): Promise<Response>;
  /** A call whose answer is JSON. */
  json<T>(path: ServerPath, call?: HttpCall): Promise<T>;
}

/** Binds calls to a server. */
export function createHttp({ baseUrl, token, headers, fetch: custom }: ServerOptions, tokens: Tokens): Http {
  const root = baseUrl.replace(/\/+$/, "");

  const request = async (path: ServerPath, call: HttpCall = {}): Promise<Response> => {
    // In a browser a path alone is enough.
    const url = new URL(root + path, (globalThis as { location?: { href: string } }).location?.href);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
    }
    const isStream = call.body instanceof ReadableStream;
    const attempt = (secret: string | undefined): Promise<Response> =>
      arrived(
        // Called as a plain function: browsers refuse a `fetch` that is a method of something else.
        (custom ?? globalThis.fetch)(url, {
          method: call.method ?? "GET",
          headers: {
            ...headers,
            ...(call.json !== undefined && { "Content-Type": "application/json" }),
            ...call.headers,
            ...(secret && { Authorization: `Bearer ${secret}` }),
          },
          ...(call.json !== undefined
            ? { body: JSON.stringify(call.json) }
            : call.body !== undefined && { body: call.body }),
          ...(isStream && { duplex: "half" }),
          ...(call.signal && { signal: call.signal }),
        }),
        call.signal,
      );
    const secret = await tokens();
    let response = await attempt(secret);
    // A body that is a stream is used up and cannot be sent again.
    if (response.status === 401 && typeof token === "function" && !isStream) {
      await response.body?.cancel();
      response = await attempt(await tokens(secret));
    }
    if (!response.ok) throw await httpErrorOf(response);
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

/** The JSON in an answer. */
export async function jsonOf<T>(response: Response, signal?: AbortSignal): Promise<T> {
  const text = await arrived(response.text(), signal);
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    const message = `${response.url} did not answer with JSON: is this the server's address?`;
    throw new SandboxAgentError("not_understood", message, { cause: error });
  }
}

/** What comes over the network. Where it does not come, the error is the caller's own abort or one of this package. */
export async function arrived<T>(coming: Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await coming;
  } catch (error) {
    signal?.throwIfAborted();
    const { message, cause } = error instanceof Error ? error : new Error(String(error));
    const why = cause instanceof Error && cause.message !== "" ? cause.message : message;
    throw new ConnectionLostError(`the server cannot be reached: ${why}`, { cause: error });
  }
}

/** Reads the error out of an answer that is not a success. */
export async function httpErrorOf(response: Response): Promise<HttpError> {
  const text = await response.text().catch(() => "");
  return new HttpError(response.status, parseProblem(text), text);
}

function parseProblem(text: string): Problem | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && ("type" in value || "title" in value) ? (value as Problem) : undefined;
  } catch {
    return undefined;
  }
}
