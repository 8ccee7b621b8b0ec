/** Requests with the caller's token, headers and `fetch`. Decides nothing about what an answer means. */

/** A token, or where to get one. After a 401 the function is asked once more, with the token that was refused. */
export type TokenSource = string | ((refused: string | undefined) => string | Promise<string>);

/** How requests are made. */
export interface HttpOptions {
  /** Sent as `Authorization: Bearer`. */
  readonly token?: TokenSource | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** One request. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** Makes requests. */
export type Http = (url: string, request: HttpRequest) => Promise<Response>;

/** Binds options to requests. */
export function createHttp({ token, headers, fetch: custom }: HttpOptions): Http {
  // Called as a plain function: browsers refuse a `fetch` that is a method of something else.
  const send: typeof fetch = (input, init) => (custom ?? globalThis.fetch)(input, init);
  let current: string | undefined;
  let asking: Promise<string> | undefined;

  const bearer = async (refused?: string): Promise<string | undefined> => {
    if (typeof token !== "function") return token;
    if (current !== undefined && current !== refused) return current;
    // Many requests may be refused at once; one question is enough for all of them.
    asking ??= Promise.resolve(token(refused)).finally(() => {
      asking = undefined;
    });
    current = await asking;
    return current;
  };

  return async (url, request) => {
    const attempt = (secret: string | undefined): Promise<Response> =>
      send(url, {
        ...request,
        headers: { ...headers, ...request.headers, ...(secret && { Authorization: `Bearer ${secret}` }) },
      });
    const secret = await bearer();
    const response = await attempt(secret);
    if (response.status !== 401 || typeof token !== "function") return response;
    await response.body?.cancel();
    return attempt(await bearer(secret));
  };
}
