import { expect, test } from "vitest";
import { contentOf, separatorOf } from "./content.ts";

test("a text file is recognised whatever its name, and its byte order mark is preserved", async () => {
  const content = await contentOf("/a/Makefile", new Blob(["\uFEFFall: täst\r\n"]));
  expect(content).toMatchObject({ kind: "text", text: "\uFEFFall: täst\r\n" });
});

test("binary content is not offered for editing", async () => {
  expect((await contentOf("a.txt", new Blob([new Uint8Array([0xff, 0xfe, 0x41])]))).kind).toBe("binary");
  expect((await contentOf("a.txt", new Blob(["a\0b"]))).kind).toBe("binary");
  expect((await contentOf("a.txt", new Blob(["x".repeat(2_000_001)]))).kind).toBe("binary");
});

test("an image gets its type from its name", async () => {
  const content = await contentOf("/x/y.PNG", new Blob([new Uint8Array([1])]));
  expect(content.kind).toBe("image");
  expect(content.blob.type).toBe("image/png");
});

test("line endings are preserved", () => {
  expect(separatorOf("a\r\nb\r\n")).toBe("\r\n");
  expect(separatorOf("a\r\nb\n")).toBe("\n");
  expect(separatorOf("\na\r\n")).toBe("\n");
  expect(separatorOf("a")).toBe("\n");
});
