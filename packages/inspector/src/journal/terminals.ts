/**
 * Collects the output of terminals. A client's terminals appear in the agent's requests to the client and in the
 * answers. Some agents have terminals of their own, and report them in the `_meta` of their tool calls.
 */

import { type JsonObject, listOf, objectOf, textOf } from "acp-http-client/internal";
import type { InstanceState, PendingRequest, TerminalState } from "./types.ts";

const NEW: TerminalState = { command: "", output: "", exit: undefined };
/** How many characters of output are kept per terminal. */
const KEPT = 500_000;

/** Applies a client's answer to a request about one of its terminals. */
export function withTerminalAnswer(
  instance: InstanceState,
  request: PendingRequest,
  result: JsonObject,
): InstanceState {
  const id = textOf(request.params.terminalId) ?? textOf(result.terminalId);
  if (!request.method.startsWith("terminal/") || id === undefined) return instance;
  const known = instance.terminals.get(id) ?? NEW;
  const command = [textOf(request.params.command), ...listOf(request.params.args).map(String)];
  const exit = objectOf(result.exitStatus ?? (request.method === "terminal/wait_for_exit" ? result : undefined));
  return withTerminal(instance, id, {
    command: request.method === "terminal/create" ? command.filter(Boolean).join(" ") : known.command,
    output: textOf(result.output) ?? known.output,
    exit: exitText(exit.signal, exit.exitCode) ?? known.exit,
  });
}

/** Applies what an agent reports about a terminal of its own in an update of a tool call. */
export function withAgentTerminal(instance: InstanceState, update: JsonObject): InstanceState {
  const meta = objectOf(update._meta);
  const id = terminalIdOf(update);
  if (id === undefined) return instance;
  const known = instance.terminals.get(id) ?? NEW;
  const exit = objectOf(meta.terminal_exit);
  const printed = [meta.terminal_output, meta.terminal_output_delta].map((part) => textOf(objectOf(part).data) ?? "");
  return withTerminal(instance, id, {
    command: known.command,
    output: (known.output + printed.join("")).slice(-KEPT),
    exit: exitText(exit.signal, exit.exit_code) ?? known.exit,
  });
}

/** The id of the agent's own terminal, from the `_meta` of an update of a tool call. */
export function terminalIdOf(update: JsonObject): string | undefined {
  const { terminal_info, terminal_output, terminal_output_delta, terminal_exit } = objectOf(update._meta);
  return [terminal_info, terminal_output, terminal_output_delta, terminal_exit]
    .map((part) => textOf(objectOf(part).terminal_id))
    .find((id) => id !== undefined);
}

function exitText(signal: unknown, code: unknown): string | undefined {
  return textOf(signal) ?? (typeof code === "number" ? `exit code ${code}` : undefined);
}

function withTerminal(instance: InstanceState, id: string, terminal: TerminalState): InstanceState {
  return { ...instance, terminals: new Map(instance.terminals).set(id, terminal) };
}
