import { expect, test } from "vitest";
import { chunk, type Line, prompt, replay, sessionIn, turnEnd, update } from "../journal/testing.ts";
import { fileNameOf, transcriptMarkdown } from "./transcript.ts";

function markdownOf(...journal: Line[]): string {
  const instance = replay(...journal);
  const transcript = transcriptMarkdown({ instance, session: sessionIn(instance), exportedAt: new Date(2026, 0, 31) });
  // The written times depend on the machine's time zone, so they are replaced by a placeholder.
  return transcript.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "(time)");
}
const tool = (more: object): Line =>
  update("tool_call", { toolCallId: "t", title: "Do it", status: "completed", ...more });

test("a transcript has the facts, the messages and the times", () => {
  expect(markdownOf(prompt("1", "Hello\n# there"), chunk("**Hi.**"), turnEnd("1", "cancelled"))).toBe(`# Hello # there

- Agent: mock
- Instance: id
- Session: s1
- Exported: (time)

## You ((time), 2 ms)

> Hello
> # there

## Agent

**Hi.**

*Cancelled.*
`);
});

test("a tool call has its command, other input and output, and a fence in the output does not end a block", () => {
  const rawInput = { command: ["make", "all"], cwd: "/w" };
  const shown = markdownOf(
    tool({ kind: "execute", rawInput, rawOutput: { stdout: "a\n```\n\u001b[31mb\u001b[0m\n" } }),
  );
  expect(shown).toContain("### Do it (execute, completed, (time), 0 ms)\n\n```sh\nmake all\n```\n\n");
  expect(shown).toContain('```json\n{\n  "cwd": "/w"\n}\n```\n\n````\na\n```\nb\n````\n');
});

test("a changed file is shown as a diff", () => {
  const content = [{ type: "diff", path: "/a.txt", oldText: "one\ntwo\n", newText: "one\nthree\n" }];
  expect(markdownOf(tool({ content }))).toContain(
    "```diff\n--- /a.txt\n+++ /a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n```\n",
  );
});

test("thoughts, plans, images and links are kept", () => {
  const content = { type: "text", text: "hm\n\nso" };
  const entries = [
    { content: "First", status: "completed" },
    { content: "Then", status: "pending" },
  ];
  const image = { type: "image", mimeType: "image/png", data: "AAAA" };
  const link = { type: "resource_link", uri: "file:///a b", name: "a b" };
  const blocks = [image, link].map((block) => update("agent_message_chunk", { content: block, messageId: "m1" }));
  const shown = markdownOf(update("agent_thought_chunk", { content }), update("plan", { entries }), ...blocks);
  expect(shown).toContain("> **Thought**\n>\n> hm\n>\n> so\n");
  expect(shown).toContain("- [x] First\n- [ ] Then\n");
  expect(shown).toContain("![image](data:image/png;base64,AAAA)\n\n[a b](<file:///a b>)\n");
});

test("the file is named after the conversation", () => {
  expect(fileNameOf(sessionIn(replay(prompt("1", " What's up, ../Döc? "))))).toBe("What-s-up-Döc");
  expect(fileNameOf(sessionIn(replay(prompt("1", "..."))))).toBe("conversation");
});
