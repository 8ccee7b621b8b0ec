/**
 * HTTP, server-sent events, JSON and ids, shared by the packages of this repository. Not covered by semantic
 * versioning: other packages should use the main entry point.
 *
 * @packageDocumentation
 */

export {
  createHttp,
  expectOk,
  type Http,
  type HttpBody,
  type HttpOptions,
  type HttpRequest,
  httpErrorOf,
  sharedToken,
} from "./http.ts";
export { isObject, type JsonObject, listOf, numberOf, objectOf, parseObject, textOf } from "./json.ts";
export { randomHex } from "./random.ts";
export { createSseParser, readEvents, type SseEvent } from "./sse.ts";
