import { expect, test } from "vitest";
import { matchingCommands, resourceLink, uploadPath } from "./compose.ts";

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
