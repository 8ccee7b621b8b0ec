import { expect, test } from "vitest";
import { contentOf, separatorOf } from "./content.ts";

test("text is text whatever its name, with its byte order mark kept", async () => {
  const content = await contentOf("/a/Makefile", new Blob(["\uFEFFall: täst\r\n"]));
  expect(content).toMatchObject({ kind: "text", text: "\uFEFFall: täst\r\n" });
});

test("bytes that are no text are not offered for editing", async () => {
  expect((await contentOf("a.txt", new Blob([new Uint8Array([0xff, 0xfe, 0x41])]))).kind).toBe("binary");
  expect((await contentOf("a.txt", new Blob(["a\0b"]))).kind).toBe("binary");
  expect((await contentOf("a.txt", new Blob(["x".repeat(2_000_001)]))).kind).toBe("binary");
});

test("a picture gets its type from its name", async () => {
  const content = await contentOf("/x/y.PNG", new Blob([new Uint8Array([1])]));
  expect(content.kind).toBe("image");
  expect(content.blob.type).toBe("image/png");
});

test("lines end as they did", () => {
  expect(separatorOf("a\r\nb\r\n")).toBe("\r\n");
  expect(separatorOf("a\r\nb\n")).toBe("\n");
  expect(separatorOf("\na\r\n")).toBe("\n");
  expect(separatorOf("a")).toBe("\n");
});
