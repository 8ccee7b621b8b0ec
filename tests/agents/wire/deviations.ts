/** Finds deviations from the protocol in the messages that the agent and the SDK send. */

import type { Entry, Message } from "./journal.ts";
import { check, type Part } from "./schema.ts";

/** A kind of deviation, and how often it occurred. */
export interface Deviation {
  /** The side that deviates: the agent, or the SDK, which must not. */
  readonly by: "agent" | "client";
  readonly text: string;
  readonly count: number;
}

/** Collects the deviations in a journal. */
export function deviationsOf(entries: readonly Entry[]): readonly Deviation[] {
  const found = new Map<string, Deviation>();
  const note = (by: Deviation["by"], text: string): void => {
    const key = `${by} ${text}`;
    found.set(key, { by, text, count: (found.get(key)?.count ?? 0) + 1 });
  };
  /** The methods of requests by instance, sender and id: a response does not name its method. */
  const requests = new Map<string, string>();
  for (const { serverId, type, data } of entries) {
    if (type === "unparsed")
      note("agent", `prints a line that is not a message: \`${shortened((data as { line: string }).line)}\``);
    if (type !== "message" && type !== "sent") continue;
    const [by, other] = type === "message" ? (["agent", "client"] as const) : (["client", "agent"] as const);
    const message = data as Message;
    const keyOf = (asker: string): string => `${serverId} ${asker} ${JSON.stringify(message.id)}`;
    if (message.method !== undefined) {
      const isRequest = message.id !== undefined;
      if (isRequest) requests.set(keyOf(by), message.method);
      checkMessage(by, message.method, isRequest ? "request" : "notification", message.params, note);
      continue;
    }
    const method = requests.get(keyOf(other));
    if (method === undefined) note(by, `responds to an unknown request (id \`${JSON.stringify(message.id)}\`)`);
    else if (message.error === undefined) checkMessage(by, method, "response", message.result, note);
    else if (!isError(message.error)) note(by, `\`${method}\`: an error without a code and a message`);
  }
  return [...found.values()].sort((one, two) => one.text.localeCompare(two.text));
}

function checkMessage(
  by: Deviation["by"],
  method: string,
  part: Part,
  value: unknown,
  note: (by: Deviation["by"], text: string) => void,
): void {
  const finding = check(method, part, value);
  // The SDK uses methods that the protocol has dropped only if the agent supports nothing newer.
  if (!finding || (finding.kind === "dropped" && by === "client")) return;
  const name = nameOf(method, part, value);
  if (finding.kind === "unstable") note(by, `${name}: not stable yet`);
  else if (finding.kind === "dropped") note(by, `${name}: no longer in the protocol`);
  else if (finding.kind === "unknown")
    note(by, `${name}: the protocol has no such method, and it does not begin with \`_\``);
  else note(by, `${name}: ${finding.problem}`);
}

/** The name of a part of a message, with the kind if it is an update. */
function nameOf(method: string, part: Part, value: unknown): string {
  const kind = (value as { update?: { sessionUpdate?: unknown } } | undefined)?.update?.sessionUpdate;
  const which = part === "response" ? " (answer)" : method === "session/update" ? ` (${String(kind)})` : "";
  return `\`${method}\`${which}`;
}

function isError({ code, message }: NonNullable<Message["error"]>): boolean {
  return typeof code === "number" && Number.isInteger(code) && typeof message === "string";
}

function shortened(line: string): string {
  const clean = line.replace(/[`|\s]+/g, " ").trim();
  return clean.length > 80 ? `${clean.slice(0, 80)}…` : clean;
}
