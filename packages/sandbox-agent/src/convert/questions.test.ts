import { describe, expect, it } from "vitest";
import {
  elicitationAccepted,
  elicitationDeclined,
  firstAnswer,
  questionAnswered,
  questionRejected,
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

  it("answers and rejects with the documented JSON", () => {
    expect(questionAnswered([["option-a"]])).toEqual({ status: "answered", answers: [["option-a"]] });
    expect(questionRejected()).toEqual({ status: "rejected" });
    expect(firstAnswer([["option-a", "b"]])).toBe("option-a");
    expect(firstAnswer([])).toBeUndefined();
  });
});

describe("forms (elicitation/create)", () => {
  const form = readElicitation(
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
    expect(form).toMatchObject({ questionId: "fallback", prompt: "Fill in", kind: "form" });
    expect(form.fields.map(({ name, type, isRequired }) => [name, type, isRequired])).toEqual([
      ["colour", "choice", false],
      ["size", "choice", false],
      ["count", "integer", true],
      ["weight", "number", false],
      ["sure", "boolean", false],
      ["tags", "choices", false],
    ]);
    expect(form.fields[1]?.options).toEqual([{ id: "s", label: "Small" }]);
    expect(form.fields[4]?.default).toBe(false);
  });

  it("are answered with values of the fields' types; empty answers are left out", () => {
    expect(elicitationAccepted(form, [["red"], [], ["3"], ["1.5"], ["yes"], ["x", "y"]])).toEqual({
      action: "accept",
      content: { colour: "red", count: 3, weight: 1.5, sure: true, tags: ["x", "y"] },
    });
  });

  it("reject an answer that is not a number, and a missing required answer", () => {
    expect(() => elicitationAccepted(form, [[], [], ["many"]])).toThrow(/whole number/);
    expect(() => elicitationAccepted(form, [[], [], ["1.5"]])).toThrow(/whole number/);
    expect(() => elicitationAccepted(form, [[], [], ["1"], [""]])).toThrow(/takes a number/);
    expect(() => elicitationAccepted(form, [])).toThrow(/must be filled in/);
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
});
