/**
 * The methods of the protocol that an agent calls on its client, except those for permissions and questions: files, and
 * terminals that the caller provides.
 */

import type { Files } from "../api/files.ts";
import { UnsupportedError } from "../errors.ts";
import { type JsonObject, listOf, numberOf, objectOf, textOf } from "../json.ts";

/** A command that the agent wants to run. */
export interface TerminalCommand {
  /** The agent's id of the session that the command belongs to. */
  readonly sessionId: string;
  /** The program. */
  readonly command: string;
  /** The program's arguments. */
  readonly args: readonly string[];
  /** Environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** The working directory. */
  readonly cwd?: string;
  /** How many bytes of the output to keep. */
  readonly outputByteLimit?: number;
}

/** How a command exited. */
export interface TerminalExit {
  /** The command's exit code. */
  readonly exitCode?: number;
  /** The signal that killed the command. */
  readonly signal?: string;
}

/** Runs commands for the agent. */
export interface Terminals {
  /** Starts a command and returns the id of its terminal. */
  create(command: TerminalCommand): string | Promise<string>;
  /** Returns the output so far. */
  output(terminalId: string): MaybePromise<{ output: string; truncated: boolean; exit?: TerminalExit }>;
  /** Waits until the command exits. */
  waitForExit(terminalId: string): MaybePromise<TerminalExit>;
  /** Kills the command; the terminal stays. */
  kill(terminalId: string): MaybePromise<void>;
  /** Kills the command and releases the terminal. */
  release(terminalId: string): MaybePromise<void>;
}

/** A value or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/** The methods that this client offers to the agent. */
export interface ClientMethodOptions {
  readonly files: Files | undefined;
  readonly terminals: Terminals | undefined;
}

/** The capabilities that this client reports in `initialize`. */
export function clientCapabilities({ files, terminals }: ClientMethodOptions): JsonObject {
  return {
    fs: { readTextFile: files !== undefined, writeTextFile: files !== undefined },
    terminal: terminals !== undefined,
    elicitation: { form: {}, url: {} },
    session: { configOptions: { boolean: {} }, notices: {} },
  };
}

/**
 * Handles a request for a file or a terminal.
 *
 * @throws UnsupportedError when the method is not known, or not offered.
 */
export async function callClientMethod(
  method: string,
  params: unknown,
  options: ClientMethodOptions,
): Promise<JsonObject> {
  const { path, content, line, limit, terminalId } = objectOf(params);
  const { files, terminals } = options;
  if (method === "fs/read_text_file" && files && typeof path === "string") {
    return { content: linesOf(await files.readText(path), numberOf(line), numberOf(limit)) };
  }
  if (method === "fs/write_text_file" && files && typeof path === "string") {
    await files.write(path, textOf(content) ?? "");
    return {};
  }
  if (!method.startsWith("terminal/") || !terminals) throw new UnsupportedError(method);
  const id = textOf(terminalId) ?? "";
  switch (method) {
    case "terminal/create":
      return { terminalId: await terminals.create(commandOf(params)) };
    case "terminal/output": {
      const { output, truncated, exit } = await terminals.output(id);
      return { output, truncated, ...(exit && { exitStatus: exit }) };
    }
    case "terminal/wait_for_exit":
      return { ...(await terminals.waitForExit(id)) };
    case "terminal/kill":
      await terminals.kill(id);
      return {};
    case "terminal/release":
      await terminals.release(id);
      return {};
    default:
      throw new UnsupportedError(method);
  }
}

/** Returns a range of lines of a text. `line` is the first one, counted from 1, and `limit` the number of lines. */
export function linesOf(text: string, line = 1, limit?: number): string {
  if (line <= 1 && limit === undefined) return text;
  const lines = text.split(/(?<=\n)/);
  const start = Math.max(line - 1, 0);
  return lines.slice(start, limit === undefined ? undefined : start + limit).join("");
}

function commandOf(params: unknown): TerminalCommand {
  const { sessionId, command, args, env, cwd, outputByteLimit } = objectOf(params);
  const variables = listOf(env)
    .map(objectOf)
    .map(({ name, value }) => [textOf(name) ?? "", textOf(value) ?? ""]);
  return {
    sessionId: textOf(sessionId) ?? "",
    command: textOf(command) ?? "",
    args: listOf(args).map(String),
    env: Object.fromEntries(variables),
    ...(typeof cwd === "string" && { cwd }),
    ...(typeof outputByteLimit === "number" && { outputByteLimit }),
  };
}
