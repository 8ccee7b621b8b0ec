/** Describes in words what an agent can do, what it cannot do, and what is not known yet. */

/** The text for each ability that a server reports. */
const LABELS: Readonly<Record<string, string>> = {
  commandExecution: "run commands",
  errorEvents: "report errors",
  fileAttachments: "read attached files",
  fileChanges: "change files",
  images: "read images",
  itemStarted: "report what it starts",
  mcpTools: "use MCP servers",
  permissions: "ask for permission",
  planMode: "plan before it acts",
  questions: "ask questions",
  reasoning: "show its thoughts",
  sessionLifecycle: "keep sessions",
  sharedProcess: "share one process among sessions",
  status: "report its status",
  streamingDeltas: "stream its answers",
  textMessages: "read and write text",
  toolCalls: "show its tool calls",
  toolResults: "show the results of its tools",
};

export interface Abilities {
  readonly has: readonly string[];
  readonly lacks: readonly string[];
  /** Abilities that are neither true nor false, because the agent has not been started yet. */
  readonly unknown: readonly string[];
}

/** Sorts the reported abilities. An ability that is null or missing is not known yet. */
export function abilitiesOf(capabilities: Readonly<Record<string, unknown>>): Abilities {
  const names = [...new Set([...Object.keys(LABELS), ...Object.keys(capabilities)])];
  const labelsWhere = (test: (value: unknown) => boolean): readonly string[] =>
    names.filter((name) => test(capabilities[name])).map((name) => LABELS[name] ?? wordsOf(name));
  return {
    has: labelsWhere((value) => value === true),
    lacks: labelsWhere((value) => value === false),
    unknown: labelsWhere((value) => typeof value !== "boolean"),
  };
}

function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
