/**
 * Converts questions to the user, and the answers. Agents ask with one of two methods: Sandbox Agent's own, or the
 * protocol's elicitation.
 */

import { compact, type JsonObject, listOf, objectOf, textOf } from "../json.ts";

/** Sandbox Agent's own method for questions. */
export const REQUEST_QUESTION = "_sandboxagent/session/request_question";

/** An option of a question. */
export interface QuestionOption {
  /** Identifies the option in an answer. */
  readonly id: string;
  /** The label to show. */
  readonly label: string;
}

/** A field to fill in. A plain question has exactly one. */
export interface QuestionField {
  /** The field's name; empty for a plain question. */
  readonly name: string;
  /** The label to show. */
  readonly label: string;
  /** The explanation to show. */
  readonly description?: string;
  /** The type of the field's value. */
  readonly type: "text" | "number" | "integer" | "boolean" | "choice" | "choices";
  /** The options, for `choice` and `choices`. */
  readonly options: readonly QuestionOption[];
  /** True if the field must be filled in. */
  readonly isRequired: boolean;
  /** The field's default value. */
  readonly default?: unknown;
}

/** An agent request that asks the user a question. */
export interface Question {
  /** Identifies the question in a reply. */
  readonly questionId: string;
  /** The session that the question belongs to. */
  readonly sessionId: string;
  /** The question's text. */
  readonly prompt: string;
  /** A choice, a form, or a page to visit. */
  readonly kind: "choice" | "form" | "url";
  /** The options of a choice; if empty, the answer is free text. */
  readonly options: readonly QuestionOption[];
  /** The fields, in order; an answer has one list per field. */
  readonly fields: readonly QuestionField[];
  /** The page to visit. */
  readonly url?: string;
}

/** The status of a question. */
export type QuestionStatus = "requested" | "answered" | "rejected";

/** The answers: one list of option ids or texts per field. */
export type Answers = readonly (readonly string[])[];

/** Converts a question of Sandbox Agent's own method. Its options are `[id, label]` pairs, strings or objects. */
export function readQuestion(params: unknown, ids: { questionId: string; sessionId: string }): Question {
  const { questionId, prompt, options, multiple } = objectOf(params);
  const choices = listOf(options)
    .map(readOption)
    .filter((option) => option !== undefined);
  const type = choices.length === 0 ? "text" : multiple === true ? "choices" : "choice";
  const text = textOf(prompt) ?? "";
  return {
    questionId: textOf(questionId) ?? ids.questionId,
    sessionId: ids.sessionId,
    prompt: text,
    kind: "choice",
    options: choices,
    fields: [{ name: "", label: text, type, options: choices, isRequired: true }],
  };
}

function readOption(option: unknown): QuestionOption | undefined {
  if (typeof option === "string") return { id: option, label: option };
  if (Array.isArray(option)) {
    const [id, label] = option as unknown[];
    return typeof id === "string" ? { id, label: textOf(label) ?? id } : undefined;
  }
  const { id, label, name } = objectOf(option);
  return typeof id === "string" ? { id, label: textOf(label) ?? textOf(name) ?? id } : undefined;
}

/** Converts an elicitation (`elicitation/create`): a form or a page to visit. */
export function readElicitation(params: unknown, ids: { questionId: string; sessionId: string }): Question {
  const { mode, message, requestedSchema, url } = objectOf(params);
  const schema = objectOf(requestedSchema);
  const required = listOf(schema.required);
  const fields =
    mode === "form" ? Object.entries(objectOf(schema.properties)).map((entry) => readField(entry, required)) : [];
  const only = fields.length === 1 ? fields[0] : undefined;
  return compact({
    ...ids,
    prompt: textOf(message) ?? "",
    kind: mode === "url" ? ("url" as const) : ("form" as const),
    options: only?.options ?? [],
    fields,
    url: mode === "url" ? textOf(url) : undefined,
  });
}

function readField([name, schema]: [string, unknown], required: readonly unknown[]): QuestionField {
  const property = objectOf(schema);
  const items = objectOf(property.items);
  const isList = property.type === "array";
  const options = isList ? choicesOf(items.enum, items.anyOf) : choicesOf(property.enum, property.oneOf);
  return compact({
    name,
    label: textOf(property.title) ?? name,
    description: textOf(property.description),
    type: fieldType(property.type, options.length > 0),
    options,
    isRequired: required.includes(name),
    default: property.default ?? undefined,
  });
}

function fieldType(type: unknown, hasOptions: boolean): QuestionField["type"] {
  if (type === "array") return "choices";
  if (type === "number" || type === "integer" || type === "boolean") return type;
  return hasOptions ? "choice" : "text";
}

function choicesOf(plain: unknown, titled: unknown): QuestionOption[] {
  const named = listOf(titled).map((entry) => {
    const { const: id, title } = objectOf(entry);
    return { id: textOf(id) ?? "", label: textOf(title) ?? textOf(id) ?? "" };
  });
  return named.length > 0 ? named : listOf(plain).map((value) => ({ id: String(value), label: String(value) }));
}

/** The response that answers a question of Sandbox Agent's own method. */
export function questionAnswered(answers: Answers): JsonObject {
  return { status: "answered", answers };
}

/** The response that rejects a question of Sandbox Agent's own method. */
export function questionRejected(): JsonObject {
  return { status: "rejected" };
}

/**
 * The response that accepts an elicitation. Converts every answer to the type of its field, and leaves out fields
 * without an answer.
 *
 * @throws TypeError when an answer is not a number where one is required, or when a required field has no answer.
 */
export function elicitationAccepted(question: Question, answers: Answers): JsonObject {
  if (question.kind === "url") return { action: "accept" };
  const content: Record<string, unknown> = {};
  question.fields.forEach((field, index) => {
    const given = answers[index] ?? [];
    const [first] = given;
    if (field.type === "choices" && (given.length > 0 || field.isRequired)) content[field.name] = [...given];
    else if (first !== undefined) content[field.name] = typedAnswer(field, first);
    else if (field.isRequired) throw new TypeError(`"${field.label}" must be filled in`);
  });
  return { action: "accept", content };
}

function typedAnswer({ type, label }: QuestionField, given: string): unknown {
  if (type === "boolean") return /^(true|yes|1|on)$/i.test(given);
  if (type !== "number" && type !== "integer") return given;
  const value = Number(given);
  const isValid = given.trim() !== "" && Number.isFinite(value) && (type === "number" || Number.isInteger(value));
  if (!isValid) throw new TypeError(`"${label}" takes ${type === "integer" ? "a whole number" : "a number"}`);
  return value;
}

/** The response that declines an elicitation. */
export function elicitationDeclined(): JsonObject {
  return { action: "decline" };
}

/** The first answer, which the older field `response` of an event contains. */
export function firstAnswer(answers: Answers): string | undefined {
  return answers[0]?.[0];
}
