import { expect, test } from "vitest";
import { acceptsImages, imageBlock, isImageToSend, matchingCommands, resourceLink, uploadPath } from "./compose.ts";

const commands = [{ name: "help" }, { name: "Hello" }, { name: "plan" }];

test("a slash offers commands until a space follows", () => {
  expect(matchingCommands("/", commands)).toHaveLength(3);
  expect(matchingCommands("/he", commands).map(({ name }) => name)).toEqual(["help", "Hello"]);
  expect(matchingCommands("/help me", commands)).toEqual([]);
  expect(matchingCommands("say /help", commands)).toEqual([]);
});

test("an attached file stays in its folder whatever its name", () => {
  expect(uploadPath("/box/", "ab", "a b.txt")).toBe("/box/.sandbox-agent/uploads/ab/a b.txt");
  expect(uploadPath("/box", "ab", "../../etc/passwd")).toBe("/box/.sandbox-agent/uploads/ab/.._.._etc_passwd");
  expect(uploadPath("/box", "ab", "..")).toBe("/box/.sandbox-agent/uploads/ab/_");
});

test("a file's URI is escaped", () => {
  const link = resourceLink({ path: "/w/a b#c.txt", name: "a b#c.txt", type: "text/plain", size: 3 });
  expect(link).toEqual({
    type: "resource_link",
    uri: "file:///w/a%20b%23c.txt",
    name: "a b#c.txt",
    size: 3,
    mimeType: "text/plain",
  });
});

test("images are sent as images only to agents that accept them", () => {
  const initialized = { agentCapabilities: { promptCapabilities: { image: true } } };
  expect(acceptsImages(initialized)).toBe(true);
  expect(acceptsImages({ agentCapabilities: { promptCapabilities: {} } })).toBe(false);
  expect(acceptsImages(undefined)).toBe(false);
});

test("images in other formats, and too large ones, are sent as files", () => {
  const megabytes = (count: number): number => count * 1024 * 1024;
  expect(isImageToSend({ type: "image/png", size: megabytes(5) })).toBe(true);
  expect(isImageToSend({ type: "image/png", size: megabytes(5) + 1 })).toBe(false);
  expect(isImageToSend({ type: "image/png", size: megabytes(5) }, megabytes(16))).toBe(false);
  expect(isImageToSend({ type: "image/svg+xml", size: 10 })).toBe(false);
  expect(isImageToSend({ type: "text/plain", size: 10 })).toBe(false);
});

test("an image's content block has its bytes without the URL around them", () => {
  expect(imageBlock("data:image/png;base64,iVBORw0=", "image/png")).toEqual({
    type: "image",
    mimeType: "image/png",
    data: "iVBORw0=",
  });
});
