import { describe, expect, it } from "vitest";
import { contentBlocksOf, contentOf, fileUri, plainText } from "./content.ts";

describe("a message as content blocks (MessageRequest)", () => {
  it("puts `message` into one text block", () => {
    expect(contentBlocksOf("hello")).toEqual([{ type: "text", text: "hello" }]);
    expect(contentBlocksOf("")).toEqual([{ type: "text", text: "" }]);
  });

  it("puts `attachments[].path` into a link with an absolute file URI", () => {
    expect(contentBlocksOf("see", [{ path: "/projects/a b.txt" }])).toEqual([
      { type: "text", text: "see" },
      { type: "resource_link", uri: "file:///projects/a%20b.txt", name: "a b.txt" },
    ]);
    expect(contentBlocksOf("", [{ path: "src/x.ts" }], "/projects/boat/")).toEqual([
      { type: "resource_link", uri: "file:///projects/boat/src/x.ts", name: "x.ts" },
    ]);
  });

  it("puts `attachments[].mime` into `mimeType`", () => {
    const [block] = contentBlocksOf("", [{ path: "/a.md", mime: "text/markdown" }]);
    expect(block).toMatchObject({ mimeType: "text/markdown" });
  });

  it("puts `attachments[].filename` into our metadata", () => {
    const [block] = contentBlocksOf("", [{ path: "/tmp/upload-17", filename: "notes.txt" }]);
    expect(block).toEqual({
      type: "resource_link",
      uri: "file:///tmp/upload-17",
      name: "notes.txt",
      _meta: { "sandboxagent.dev": { filename: "notes.txt" } },
    });
  });

  it("embeds content if the agent accepts it, otherwise links the file", () => {
    const text = { path: "/a.txt", mime: "text/plain", text: "inside" };
    expect(contentBlocksOf("", [text], "/", { embedded: true })).toEqual([
      { type: "resource", resource: { uri: "file:///a.txt", mimeType: "text/plain", text: "inside" } },
    ]);
    expect(contentBlocksOf("", [text])[0]).toMatchObject({ type: "resource_link" });
    const image = { path: "/a.png", mime: "image/png", data: "AAAA" };
    expect(contentBlocksOf("", [image], "/", { image: true })[0]).toMatchObject({ type: "image", data: "AAAA" });
    expect(contentBlocksOf("", [image], "/", { embedded: true })[0]).toMatchObject({
      type: "resource",
      resource: { blob: "AAAA" },
    });
    const sound = { path: "/a.wav", mime: "audio/wav", data: "AAAA" };
    expect(contentBlocksOf("", [sound], "/", { audio: true })[0]).toMatchObject({
      type: "audio",
      mimeType: "audio/wav",
    });
  });
});

describe("attachments with data", () => {
  const all = { image: true, audio: true, embedded: true };
  const typeOf = (attachment: object, abilities: object) =>
    contentBlocksOf("", [{ path: "/a", ...attachment }], "/", abilities)[0]?.type;

  it.each<[object, object, string]>([
    [{ mime: "image/png", data: "AA" }, all, "image"],
    [{ mime: "image/png" }, all, "resource_link"],
    [{ mime: "image/png", text: "<svg>" }, all, "resource"],
    [{ data: "AA" }, all, "resource"],
    [{ mime: "text/plain", data: "AA" }, all, "resource"],
    [{ mime: "audio/wav", data: "AA" }, all, "audio"],
    [{ mime: "audio/wav" }, all, "resource_link"],
    [{ mime: "audio/wav", data: "AA" }, { image: true }, "resource_link"],
    [{ mime: "image/png", data: "AA" }, { audio: true }, "resource_link"],
    [{}, all, "resource_link"],
  ])("%j with %j is a %s", (attachment, abilities, type) => expect(typeOf(attachment, abilities)).toBe(type));

  it("embed the text if there is one, otherwise the data", () => {
    const [both] = contentBlocksOf("", [{ path: "/a", text: "t", data: "AA" }], "/", { embedded: true });
    expect(both).toEqual({ type: "resource", resource: { uri: "file:///a", text: "t" } });
  });

  it("resolve a relative path against the root by default", () => {
    expect(contentBlocksOf("", [{ path: "a" }])[0]).toMatchObject({ uri: "file:///a" });
  });
});

describe("file URIs", () => {
  it.each([
    ["/a/b", "file:///a/b"],
    ["/a/../b/./c", "file:///b/c"],
    ["/ä?#%.txt", "file:///%C3%A4%3F%23%25.txt"],
    ["file:///already/there", "file:///already/there"],
    ["/", "file:///"],
  ])("%s is %s", (path, uri) => expect(fileUri(path)).toBe(uri));

  it("start at the directory, or at the root by default", () => {
    expect(fileUri("a")).toBe("file:///a");
    expect(fileUri("a/", "/b//")).toBe("file:///b/a");
    expect(fileUri("a-file://b", "/c")).toBe("file:///c/a-file%3A/b");
  });

  it("rejects a relative path without an absolute directory", () => {
    expect(() => fileUri("a", "not/absolute")).toThrow(TypeError);
    expect(() => fileUri("a", "not/absolute")).toThrow('"a" is relative and no absolute directory is given');
  });
});

describe("content blocks as content", () => {
  it.each<[unknown, unknown]>([
    [
      { type: "text", text: "hi" },
      { type: "text", text: "hi" },
    ],
    [
      { type: "image", data: "AA", mimeType: "image/png" },
      { type: "image", data: "AA", mime: "image/png" },
    ],
    [
      { type: "audio", data: "AA", mimeType: "audio/wav" },
      { type: "audio", data: "AA", mime: "audio/wav" },
    ],
    [
      { type: "resource_link", uri: "file:///a", name: "a" },
      { type: "file", uri: "file:///a", filename: "a" },
    ],
    [
      { type: "resource", resource: { uri: "u", text: "t" }, _meta: { "sandboxagent.dev": { filename: "f" } } },
      { type: "embedded", uri: "u", text: "t", filename: "f" },
    ],
    [
      { type: "hologram", x: 1 },
      { type: "unknown", raw: { type: "hologram", x: 1 } },
    ],
    [null, { type: "unknown", raw: null }],
    [
      { type: "image", data: "AA" },
      { type: "image", data: "AA", mime: "application/octet-stream" },
    ],
    [
      { type: "audio", data: "AA" },
      { type: "audio", data: "AA", mime: "application/octet-stream" },
    ],
    [
      { type: "image", data: "AA", mimeType: "image/png", uri: "u" },
      { type: "image", data: "AA", mime: "image/png", uri: "u" },
    ],
    [{ type: "resource" }, { type: "embedded", uri: "" }],
    ...[
      { type: "text", text: 1 },
      { type: "image", data: 1 },
      { type: "audio", data: 1 },
      { type: "resource_link", uri: 1 },
      { type: "other", text: "t", data: "AA", uri: "u" },
    ].map((raw): [unknown, unknown] => [raw, { type: "unknown", raw }]),
  ])("%j", (block, content) => expect(contentOf(block)).toEqual(content));

  it("can be joined to plain text", () => {
    expect(
      plainText([
        { type: "text", text: "a" },
        { type: "unknown", raw: 1 },
        { type: "embedded", uri: "u", text: "not said" },
        { type: "text", text: "b" },
      ]),
    ).toBe("ab");
  });
});
