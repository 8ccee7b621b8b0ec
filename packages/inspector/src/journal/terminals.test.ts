import { expect, test } from "vitest";
import { fromAgent, replay, sent, sessionIn, update } from "./testing.ts";

test("the output of a client's terminal is recorded under its id", () => {
  const instance = replay(
    fromAgent({ id: 0, method: "terminal/create", params: { sessionId: "s1", command: "ls", args: ["-l"] } }),
    sent({ id: 0, result: { terminalId: "t" } }),
    fromAgent({ id: 1, method: "terminal/output", params: { sessionId: "s1", terminalId: "t" } }),
    sent({ id: 1, result: { output: "a\nb\n", truncated: false } }),
    fromAgent({ id: 2, method: "terminal/wait_for_exit", params: { sessionId: "s1", terminalId: "t" } }),
    sent({ id: 2, result: { exitCode: 3 } }),
  );
  expect(instance.terminals.get("t")).toEqual({ command: "ls -l", output: "a\nb\n", exit: "exit code 3" });
  expect(instance.agentRequests).toEqual([]);
});

test("an agent's own terminals are recorded from its tool calls", () => {
  const report = (sessionUpdate: string, _meta: object) => update(sessionUpdate, { toolCallId: "c", _meta });
  const instance = replay(
    report("tool_call", { terminal_info: { terminal_id: "c", cwd: "/" } }),
    report("tool_call_update", { terminal_output: { terminal_id: "c", data: "one " } }),
    report("tool_call_update", { terminal_output_delta: { terminal_id: "c", data: "two" } }),
    report("tool_call_update", { terminal_exit: { terminal_id: "c", exit_code: 0, signal: null } }),
  );
  expect(instance.terminals.get("c")).toEqual({ command: "", output: "one two", exit: "exit code 0" });
  expect(sessionIn(instance).items).toMatchObject([{ type: "tool", toolCallId: "c", terminalId: "c" }]);
});
