import { describe, expect, it } from "vitest";
import {
  elicitationAccepted,
  elicitationDeclined,
  firstAnswer,
  questionAnswered,
  questionRejected,
  REQUEST_QUESTION,
  readElicitation,
  readQuestion,
} from "./questions.ts";

const ids = { questionId: "fallback", sessionId: "s" };

describe("questions", () => {
  it("reads options as pairs of id and label", () => {
    const question = readQuestion(
      {
        questionId: "q",
        prompt: "Which?",
        options: [
          ["a", "Option A"],
          ["b", "Option B"],
        ],
      },
      ids,
    );
    expect(question).toMatchObject({
      questionId: "q",
      sessionId: "s",
      prompt: "Which?",
      kind: "choice",
      options: [
        { id: "a", label: "Option A" },
        { id: "b", label: "Option B" },
      ],
    });
  });

  it("reads options as plain strings, and as objects", () => {
    const { options } = readQuestion({ prompt: "?", options: ["yes", { id: "n", label: "no" }, 17] }, ids);
    expect(options).toEqual([
      { id: "yes", label: "yes" },
      { id: "n", label: "no" },
    ]);
  });

  it("uses the request's id if the question has none, and free text if it has no options", () => {
    const question = readQuestion({ prompt: "Name?" }, ids);
    expect(question.questionId).toBe("fallback");
    expect(question.fields).toMatchObject([{ type: "text" }]);
  });

  it("is one field, whose type depends on the options", () => {
    const fieldsOf = (params: object) => readQuestion({ prompt: "?", ...params }, ids).fields;
    const options = [{ id: "a", label: "a" }];
    const field = { name: "", label: "?", isRequired: true };
    expect(fieldsOf({})).toEqual([{ ...field, type: "text", options: [] }]);
    expect(fieldsOf({ options: ["a"] })).toEqual([{ ...field, type: "choice", options }]);
    expect(fieldsOf({ options: ["a"], multiple: true })).toEqual([{ ...field, type: "choices", options }]);
    expect(fieldsOf({ multiple: true })).toEqual([{ ...field, type: "text", options: [] }]);
    expect(readQuestion({}, ids)).toMatchObject({ prompt: "", fields: [{ label: "" }] });
  });

  it("reads options of every form, and leaves out those without an id", () => {
    const options = [["a"], [1, "x"], { id: "b", name: "B" }, { id: "c" }, { id: 1, label: "x" }, {}];
    expect(readQuestion({ options }, ids).options).toEqual([
      { id: "a", label: "a" },
      { id: "b", label: "B" },
      { id: "c", label: "c" },
    ]);
  });

  it("has a method of its own", () => {
    expect(REQUEST_QUESTION).toBe("_sandboxagent/session/request_question");
  });

  it("answers and rejects with the documented JSON", () => {
    expect(questionAnswered([["option-a"]])).toEqual({ status: "answered", answers: [["option-a"]] });
    expect(questionRejected()).toEqual({ status: "rejected" });
    expect(firstAnswer([["option-a", "b"]])).toBe("option-a");
    expect(firstAnswer([])).toBeUndefined();
  });
});

describe("forms (elicitation/create)", () => {
  const form = () =>
    readElicitation(
      {
        mode: "form",
        message: "Fill in",
        requestedSchema: {
          properties: {
            colour: { type: "string", title: "Colour", enum: ["red", "blue"] },
            size: { type: "string", oneOf: [{ const: "s", title: "Small" }] },
            count: { type: "integer" },
            weight: { type: "number" },
            sure: { type: "boolean", default: false },
            tags: { type: "array", items: { type: "string", enum: ["x", "y"] } },
          },
          required: ["count"],
        },
      },
      ids,
    );

  it("are questions with a field for each property", () => {
    expect(form()).toMatchObject({ questionId: "fallback", prompt: "Fill in", kind: "form" });
    expect(form().fields.map(({ name, type, isRequired }) => [name, type, isRequired])).toEqual([
      ["colour", "choice", false],
      ["size", "choice", false],
      ["count", "integer", true],
      ["weight", "number", false],
      ["sure", "boolean", false],
      ["tags", "choices", false],
    ]);
    expect(form().fields[1]?.options).toEqual([{ id: "s", label: "Small" }]);
    expect(form().fields[4]?.default).toBe(false);
    expect(form().options).toEqual([]);
  });

  it("are answered with values of the fields' types; empty answers are left out", () => {
    expect(elicitationAccepted(form(), [["red"], [], ["3"], ["1.5"], ["yes"], ["x", "y"]])).toEqual({
      action: "accept",
      content: { colour: "red", count: 3, weight: 1.5, sure: true, tags: ["x", "y"] },
    });
  });

  it("reject an answer that is not a number, and a missing required answer", () => {
    expect(() => elicitationAccepted(form(), [[], [], ["many"]])).toThrow(/whole number/);
    expect(() => elicitationAccepted(form(), [[], [], ["1.5"]])).toThrow(/whole number/);
    expect(() => elicitationAccepted(form(), [[], [], ["1"], [""]])).toThrow(/takes a number/);
    expect(() => elicitationAccepted(form(), [])).toThrow(/must be filled in/);
  });

  it("can be a page to visit, and can be declined", () => {
    const page = readElicitation({ mode: "url", message: "Sign in", url: "https://example.test" }, ids);
    expect(page).toMatchObject({ kind: "url", url: "https://example.test", fields: [] });
    expect(elicitationAccepted(page, [])).toEqual({ action: "accept" });
    expect(elicitationDeclined()).toEqual({ action: "decline" });
  });

  it("offer the options directly if there is only one field", () => {
    const { options } = readElicitation(
      { mode: "form", message: "?", requestedSchema: { properties: { only: { type: "string", enum: ["a"] } } } },
      ids,
    );
    expect(options).toEqual([{ id: "a", label: "a" }]);
  });

  it("have fields of every type", () => {
    const properties = {
      plain: { type: "string" },
      described: { type: "string", title: "T", description: "D", default: "d" },
      nothing: { default: null },
      list: { type: "array", items: { enum: [1, 2] } },
      titled: { type: "array", items: { anyOf: [{ const: "a", title: "A" }, { const: "b" }, {}] } },
    };
    const { fields, options } = readElicitation({ mode: "form", requestedSchema: { properties } }, ids);
    const rest = { options: [], isRequired: false };
    expect(fields).toEqual([
      { name: "plain", label: "plain", type: "text", ...rest },
      { name: "described", label: "T", description: "D", type: "text", default: "d", ...rest },
      { name: "nothing", label: "nothing", type: "text", ...rest },
      {
        name: "list",
        label: "list",
        type: "choices",
        isRequired: false,
        options: [
          { id: "1", label: "1" },
          { id: "2", label: "2" },
        ],
      },
      {
        name: "titled",
        label: "titled",
        type: "choices",
        isRequired: false,
        options: [
          { id: "a", label: "A" },
          { id: "b", label: "b" },
          { id: "", label: "" },
        ],
      },
    ]);
    expect(options).toEqual([]);
  });

  it("of another mode have no fields and no page", () => {
    const requestedSchema = { properties: { a: { type: "string", enum: ["x"] } } };
    const question = readElicitation({ mode: "other", requestedSchema, url: "https://example.test" }, ids);
    expect(question).toEqual({ ...ids, prompt: "", kind: "form", options: [], fields: [] });
    const page = readElicitation({ mode: "url", requestedSchema, url: 1 }, ids);
    expect(page).toEqual({ ...ids, prompt: "", kind: "url", options: [], fields: [] });
  });

  it("leave out empty lists, unless they are required", () => {
    const list = (required: string[]) =>
      readElicitation({ mode: "form", requestedSchema: { properties: { l: { type: "array" } }, required } }, ids);
    expect(elicitationAccepted(list([]), [[]])).toEqual({ action: "accept", content: {} });
    expect(elicitationAccepted(list(["l"]), [[]])).toEqual({ action: "accept", content: { l: [] } });
    expect(elicitationAccepted(list(["l"]), [])).toEqual({ action: "accept", content: { l: [] } });
  });

  it.each([
    ["true", true],
    ["YES", true],
    ["1", true],
    ["on", true],
    ["untrue", false],
    ["one", false],
    ["no", false],
  ])("take %s as %s", (given, value) => {
    const yesNo = readElicitation({ mode: "form", requestedSchema: { properties: { b: { type: "boolean" } } } }, ids);
    expect(elicitationAccepted(yesNo, [[given]])).toEqual({ action: "accept", content: { b: value } });
  });

  it("do not take blanks or infinity as a number", () => {
    for (const given of [" ", "Infinity", "NaN"]) {
      expect(() => elicitationAccepted(form(), [[], [], ["1"], [given]])).toThrow('"weight" takes a number');
    }
  });
});
