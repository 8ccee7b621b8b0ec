/**
 * Validates messages against the protocol's two schemas: first the stable one, then the one with unstable parts.
 * Extension methods, which start with `_`, have no schema.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";

/** The part of a message to validate: the params of a request or notification, or the result of a request. */
export type Part = "request" | "notification" | "response";

/** How a message deviates from the stable protocol. */
export type Finding =
  /** The message conforms only to the unstable protocol. */
  | { readonly kind: "unstable" }
  /** The method was removed from the protocol. */
  | { readonly kind: "dropped" }
  /** The protocol has no such method. */
  | { readonly kind: "unknown" }
  /** The message does not conform to any version. */
  | { readonly kind: "invalid"; readonly problem: string };

/** Methods that were removed from the protocol. Older agents still support them, and the SDK falls back to them. */
const DROPPED: readonly string[] = ["session/set_model"];

const SUFFIX: Record<Part, string> = { request: "Request", notification: "Notification", response: "Response" };

interface Definition {
  readonly "x-method"?: string;
}

/** One version of the schema. */
interface Schema {
  knows(method: string): boolean;
  /** `undefined` if this version has no such part. */
  validatorOf(method: string, part: Part): ValidateFunction | undefined;
  /** Compiles a part of this schema. */
  compile(part: object): ValidateFunction;
}

// Resolved from the node_modules of packages/, because this folder has none.
const fromPackages = createRequire(new URL("../../../packages/package.json", import.meta.url));
const { Ajv2020 } = fromPackages("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");

function load(fixture: string): Schema {
  const text = readFileSync(new URL(`../../fixtures/${fixture}`, import.meta.url), "utf8");
  const schema = JSON.parse(text) as { readonly $defs: Readonly<Record<string, Definition>> };
  // Formats are not validated: they are only widths of integers, and the schema also has their bounds.
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true, verbose: true });
  ajv.addSchema(schema, "acp");
  const definitions = Object.entries(schema.$defs);
  const methods = new Set(definitions.map(([, definition]) => definition["x-method"]));
  const compiled = new Map<object, ValidateFunction>();
  return {
    knows: (method) => methods.has(method),
    compile(part) {
      const validate = compiled.get(part) ?? ajv.compile({ $defs: schema.$defs, ...part });
      compiled.set(part, validate);
      return validate;
    },
    validatorOf(method, part) {
      const isIt = ([name, definition]: [string, Definition]): boolean =>
        definition["x-method"] === method && name.endsWith(SUFFIX[part]);
      const name = definitions.find(isIt)?.[0];
      return name === undefined ? undefined : ajv.getSchema(`acp#/$defs/${name}`);
    },
  };
}

const stable = load("acp-v1.schema.json");
const unstable = load("acp-v1-unstable.schema.json");

/** Validates one part of a message. Returns `undefined` if it conforms to the stable protocol. */
export function check(method: string, part: Part, value: unknown): Finding | undefined {
  if (method.startsWith("_")) return undefined;
  if (DROPPED.includes(method)) return { kind: "dropped" };
  if (!unstable.knows(method) && !stable.knows(method)) return { kind: "unknown" };
  const [firm, loose] = [stable.validatorOf(method, part), unstable.validatorOf(method, part)];
  const given = value ?? {};
  if (firm?.(given)) return undefined;
  if (loose?.(given)) return { kind: "unstable" };
  const problem = firm?.errors
    ? explain(firm.errors, stable)
    : loose?.errors
      ? explain(loose.errors, unstable)
      : `it is sent as a ${part}`;
  return { kind: "invalid", problem };
}

/** Describes the relevant errors. For a union, only those of the variant that the sender has meant. */
function explain(errors: readonly ErrorObject[], schema: Schema): string {
  const choice = errors.find(({ keyword, data }) => CHOICES.includes(keyword) && isObject(data));
  const meant = choice && meantShape(choice);
  if (choice && meant) {
    const validate = schema.compile(meant);
    const inner = validate(choice.data) ? [] : (validate.errors ?? []);
    const placed = inner.map((error) => ({ ...error, instancePath: choice.instancePath + error.instancePath }));
    const outside = errors.filter(({ instancePath }) => !instancePath.startsWith(choice.instancePath));
    if (placed.length > 0) return explain([...outside, ...placed], schema);
  }
  const reasons = errors.filter(({ keyword }) => !CHOICES.includes(keyword));
  const texts = (reasons.length > 0 ? reasons : errors).map(described);
  return [...new Set(texts)].slice(0, MAX_REASONS).join("; ");
}

const CHOICES: readonly string[] = ["oneOf", "anyOf"];
const MAX_REASONS = 3;

function described({ instancePath, message, keyword, params }: ErrorObject): string {
  const where = instancePath.replace(/\/\d+(?=\/|$)/g, "/*");
  const allowed = keyword === "enum" ? `: ${(params as { allowedValues: unknown[] }).allowedValues.join(", ")}` : "";
  return `${where === "" ? "it" : where} ${message}${allowed}`;
}

/** Finds the variant of a union that was meant: its constants, such as `sessionUpdate` or `type`, match the data. */
function meantShape({ schema, data }: ErrorObject): object | undefined {
  const given = data as Readonly<Record<string, unknown>>;
  return (schema as readonly object[]).find((shape) => {
    const { properties = {} } = shape as { properties?: Readonly<Record<string, { const?: unknown }>> };
    const fixed = Object.entries(properties).filter(([, { const: word }]) => word !== undefined);
    return fixed.length > 0 && fixed.every(([name, { const: word }]) => given[name] === word);
  });
}

function isObject(data: unknown): boolean {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}
