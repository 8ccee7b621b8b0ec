/** HTTP requests with the caller's token, headers and `fetch`. A 401 makes them ask for a new token; all other responses are returned to the caller. */

import { AcpHttpError } from "./errors.ts";
import { parseObject } from "./json.ts";

/** A token, or a function that returns one. After a 401 the function is called once more, with the rejected token. */
export type TokenSource = string | ((refused: string | undefined) => string | Promise<string>);

/** Settings that apply to every request. */
export interface HttpOptions {
  /** The token that is sent as `Authorization: Bearer`. */
  readonly token?: TokenSource | undefined;
  /** Headers that are sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The function that is used instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** The body of a request. Not the DOM library's `BodyInit`, which Node.js projects do not have. */
export type HttpBody = NonNullable<RequestInit["body"]>;

/** An HTTP request. */
export interface HttpRequest {
  /** The request method. */
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** Headers of this request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body. A stream can be sent only once, so a request with a stream is not repeated after a 401. */
  readonly body?: HttpBody | undefined;
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined;
}

/** Sends a request. */
export type Http = (url: string | URL, request: HttpRequest) => Promise<Response>;

/** Makes a function that sends requests with these settings. */
export function createHttp({ token, headers, fetch: custom }: HttpOptions): Http {
  // Called as a plain function: browsers reject a `fetch` that is called as a method of another object.
  const send: typeof fetch = (input, init) => (custom ?? globalThis.fetch)(input, init);
  const source = token && sharedToken(token);
  const bearer = typeof source === "function" ? source : () => source;

  return async (url, request) => {
    const isStream = request.body instanceof ReadableStream;
    const attempt = (secret: string | undefined): Promise<Response> =>
      send(url, {
        ...request,
        headers: { ...headers, ...request.headers, ...(secret && { Authorization: `Bearer ${secret}` }) },
        ...(isStream && { duplex: "half" }),
      } as RequestInit);
    const secret = await bearer(undefined);
    const response = await attempt(secret);
    if (response.status !== 401 || typeof token !== "function" || isStream) return response;
    await response.body?.cancel();
    return attempt(await bearer(secret));
  };
}

/** A token source that remembers the token, and calls the original function once for all concurrent callers. */
export function sharedToken(source: TokenSource): TokenSource {
  if (typeof source !== "function") return source;
  let current: string | undefined;
  let pending: Promise<string> | undefined;
  return async (refused) => {
    if (current !== undefined && current !== refused) return current;
    pending ??= Promise.resolve(source(refused)).finally(() => {
      pending = undefined;
    });
    current = await pending;
    return current;
  };
}

/** Returns the response if it is a success, otherwise throws its error. */
export async function expectOk(response: Response): Promise<Response> {
  if (!response.ok) throw await httpErrorOf(response);
  return response;
}

/** Reads the error from a response that is not a success. */
export async function httpErrorOf(response: Response): Promise<AcpHttpError> {
  const text = await response.text().catch(() => "");
  const value = parseObject(text);
  const problem = value && ("type" in value || "title" in value) ? value : undefined;
  // Zero if the header is missing or is a date.
  const retryAfterMs = Number(response.headers.get("retry-after")) * 1000 || 0;
  return new AcpHttpError(response.status, problem, text, retryAfterMs);
}
