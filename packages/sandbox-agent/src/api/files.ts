/** The sandbox's files. Paths are absolute, or relative to the server's workspace. */

import { readEvents } from "acp-http-client/internal";
import { type Http, jsonOf, withTypedErrors } from "../http.ts";
import { textOf } from "../json.ts";
import type { QueryOf, Schema, ServerPath } from "./document.ts";
import { type PackedFile, tarOf } from "./tar.ts";

/** The type of a directory entry. */
export type EntryType = Schema<"EntryType">;

/** An entry of a directory listing. */
export type FileEntry = Schema<"FileEntry">;

/** Options for listing a directory. */
export interface ListOptions {
  /** True to list all descendants. */
  readonly recursive?: boolean;
  /** How many entries to request at a time. Default: all at once. */
  readonly pageSize?: number;
}

/** The metadata of a path. */
export type FileStat = Schema<"FileStat">;

/** Options for writing a file. */
export interface WriteOptions {
  /** The `etag` that the file must still have; an earlier read returned it. */
  readonly ifMatch?: string;
  /** True to write only if the file does not exist. */
  readonly ifAbsent?: boolean;
  /** Aborts the upload; the existing file is kept. */
  readonly signal?: AbortSignal;
}

/** The result of a write. */
export type WriteResult = Schema<"WrittenFile">;

/** The result of an upload. */
export type UploadResult = Schema<"UnpackedArchive">;

/** A change in a watched directory. `overflow` means that changes were lost: list the directory again. */
export type FileChange =
  | ({ readonly type: "created" | "changed" | "removed" | "overflow" } & Schema<"PathChange">)
  | ({ readonly type: "renamed" } & Schema<"Renaming">);

/** An archive format. */
export type ArchiveType = "tar" | "tar.gz" | "tar.zst";

/** The content of a file to send. */
export type FileBody = string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

/** The sandbox's files. */
export interface Files {
  /** Lists a directory, sorted. Default: the workspace. */
  list(path?: string, options?: ListOptions): Promise<readonly FileEntry[]>;
  /** Reads a file as bytes. */
  read(path: string, options?: { readonly signal?: AbortSignal }): Promise<Uint8Array>;
  /** Reads a file as text. */
  readText(path: string, options?: { readonly signal?: AbortSignal }): Promise<string>;
  /** Opens a file as a stream, with its `etag`. */
  open(path: string, options?: { readonly signal?: AbortSignal }): Promise<OpenFile>;
  /** Writes a file atomically. Missing parent directories are created. */
  write(path: string, content: FileBody, options?: WriteOptions): Promise<WriteResult>;
  /** Deletes a file or an empty directory; with `recursive`, a directory and everything in it. */
  delete(path: string, options?: { readonly recursive?: boolean }): Promise<void>;
  /** Creates a directory and its missing parents. */
  mkdir(path: string): Promise<void>;
  /** Moves or renames a file or directory. */
  move(from: string, to: string, options?: { readonly overwrite?: boolean }): Promise<void>;
  /** Reads the metadata of a path. */
  stat(path: string): Promise<FileStat>;
  /** Uploads many files at once: either all of them or, if there is an error, none. */
  upload(path: string, files: Iterable<PackedFile>, options?: { readonly signal?: AbortSignal }): Promise<UploadResult>;
  /** Uploads an archive and unpacks it. */
  uploadArchive(
    path: string,
    archive: FileBody,
    type?: ArchiveType,
    options?: { readonly signal?: AbortSignal },
  ): Promise<UploadResult>;
  /** Downloads a directory as an archive. */
  download(path: string, type?: ArchiveType): Promise<ReadableStream<Uint8Array>>;
  /** Watches a directory until the signal is aborted. */
  watch(
    path?: string,
    options?: { readonly recursive?: boolean; readonly signal?: AbortSignal },
  ): AsyncGenerator<FileChange, void, void>;
}

/** An open file. */
export interface OpenFile {
  /** The content of the file. */
  readonly body: ReadableStream<Uint8Array>;
  /** Identifies this version of the file. */
  readonly etag?: string;
  /** The size of the file in bytes. */
  readonly size?: number;
}

const MEDIA_TYPES: Record<ArchiveType, string> = {
  tar: "application/x-tar",
  "tar.gz": "application/gzip",
  "tar.zst": "application/zstd",
};
const CHANGES = ["created", "changed", "removed", "renamed", "overflow"];

/** Makes the API of a server's files. */
export function createFiles(http: Http): Files {
  const get = (path: string, signal?: AbortSignal): Promise<Response> =>
    http.request("/v1/fs/file", { query: { path }, signal });

  const unpack = (path: string, archive: FileBody, type: ArchiveType, signal?: AbortSignal): Promise<UploadResult> =>
    http.json("/v1/fs/upload-batch", {
      method: "POST",
      query: { path },
      headers: { "Content-Type": MEDIA_TYPES[type] },
      body: archive,
      signal,
    });

  return {
    async list(path, { recursive, pageSize } = {}) {
      let entries: readonly FileEntry[] = [];
      let call: ServerPath | undefined = "/v1/fs/entries";
      let query: QueryOf<"listEntries"> | undefined = { path, recursive, limit: pageSize };
      while (call !== undefined) {
        const headers = { Accept: "application/json" };
        const response: Response = await http.request(call, { ...(query && { query }), headers });
        entries = entries.concat(await jsonOf<FileEntry[]>(response));
        call = nextOf(response.headers.get("link"));
        query = undefined;
      }
      return entries;
    },
    async read(path, { signal } = {}) {
      return new Uint8Array(await withTypedErrors((await get(path, signal)).arrayBuffer(), signal));
    },
    async readText(path, { signal } = {}) {
      return withTypedErrors((await get(path, signal)).text(), signal);
    },
    async open(path, { signal } = {}) {
      const response = await get(path, signal);
      const [etag, length] = [response.headers.get("etag"), response.headers.get("content-length")];
      return {
        body: response.body ?? new ReadableStream(),
        ...(etag !== null && { etag }),
        ...(length !== null && { size: Number(length) }),
      };
    },
    write: (path, content, { ifMatch, ifAbsent, signal } = {}) =>
      http.json("/v1/fs/file", {
        method: "PUT",
        query: { path },
        headers: {
          "Content-Type": "application/octet-stream",
          ...(ifMatch !== undefined && { "If-Match": ifMatch }),
          ...(ifAbsent && { "If-None-Match": "*" }),
        },
        body: content,
        signal,
      }),
    async delete(path, { recursive } = {}) {
      await http.request("/v1/fs/entry", { method: "DELETE", query: { path, recursive } });
    },
    async mkdir(path) {
      await http.request("/v1/fs/mkdir", { method: "POST", query: { path } });
    },
    async move(from, to, { overwrite } = {}) {
      const json: Schema<"MoveRequest"> = overwrite === undefined ? { from, to } : { from, to, overwrite };
      await http.request("/v1/fs/move", { method: "POST", json });
    },
    stat: (path) => http.json("/v1/fs/stat", { query: { path } }),
    upload: (path, files, { signal } = {}) => unpack(path, new Blob([...tarOf(files)] as BlobPart[]), "tar", signal),
    uploadArchive: (path, archive, type = "tar", { signal } = {}) => unpack(path, archive, type, signal),
    async download(path, format = "tar.gz") {
      const response = await http.request("/v1/fs/download-batch", { query: { path, format } });
      return response.body ?? new ReadableStream();
    },
    async *watch(path, { recursive, signal } = {}) {
      const query = { ...(path !== undefined && { path }), ...(recursive !== undefined && { recursive }) };
      const response = await http.request("/v1/fs/watch", {
        query,
        headers: { Accept: "text/event-stream" },
        signal,
      });
      if (!response.body) return;
      const batches = readEvents(response.body);
      try {
        for (;;) {
          const { done, value } = await withTypedErrors(batches.next(), signal);
          if (done) return;
          for (const { type, data } of value) {
            if (CHANGES.includes(type)) yield { type, ...(JSON.parse(data) as object) } as FileChange;
          }
        }
      } catch (error) {
        if (!signal?.aborted) throw error;
      } finally {
        await batches.return();
      }
    },
  };
}

/** The path of the next page in a `Link` header. */
function nextOf(link: string | null): ServerPath | undefined {
  const target = textOf(/<([^>]+)>\s*;\s*rel="?next"?/i.exec(link ?? "")?.[1]);
  if (target === undefined) return undefined;
  // Uses only the path of the URL: a server behind a proxy does not know the origin that its clients use.
  const { pathname, search } = new URL(target, "http://server/v1/fs/");
  return (pathname.slice(pathname.indexOf("/v1/fs/")) + search) as ServerPath;
}
