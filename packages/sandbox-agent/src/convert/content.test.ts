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

describe("file URIs", () => {
  it.each([
    ["/a/b", "file:///a/b"],
    ["/a/../b/./c", "file:///b/c"],
    ["/ä?#%.txt", "file:///%C3%A4%3F%23%25.txt"],
    ["file:///already/there", "file:///already/there"],
    ["/", "file:///"],
  ])("%s is %s", (path, uri) => expect(fileUri(path)).toBe(uri));

  it("rejects a relative path without an absolute directory", () => {
    expect(() => fileUri("a", "not/absolute")).toThrow(TypeError);
  });
});

describe("content blocks as content", () => {
  it.each([
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
  ])("%j", (block, content) => expect(contentOf(block)).toEqual(content));

  it("have a plain text", () => {
    expect(
      plainText([
        { type: "text", text: "a" },
        { type: "unknown", raw: 1 },
        { type: "text", text: "b" },
      ]),
    ).toBe("ab");
  });
});
