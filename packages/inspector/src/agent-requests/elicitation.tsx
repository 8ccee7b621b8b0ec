/** An elicitation (a form or a page to visit), and agent requests of unknown methods. */

import { type FormEvent, useId, useState } from "react";
import { elicitationAccepted, elicitationDeclined, type Question, type QuestionField } from "sandbox-agent/convert";
import { Json } from "../text/json.tsx";
import { Alert } from "../view/alert.tsx";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";
import type { OpenRequest } from "./open.ts";

interface Props {
  readonly open: OpenRequest;
  readonly question: Question | undefined;
}

export function ElicitationForm({ open, question }: Props): React.ReactNode {
  return question ? <Elicitation open={open} question={question} /> : <Unknown open={open} />;
}

type Values = Readonly<Record<string, readonly string[]>>;

function initialValues(fields: readonly QuestionField[]): Values {
  return Object.fromEntries(
    fields.map(({ name, type, default: given }) => {
      if (Array.isArray(given)) return [name, given.map(String)];
      if (given !== undefined) return [name, [String(given)]];
      return [name, type === "boolean" ? ["false"] : []];
    }),
  );
}

function Elicitation({
  open: { serverId, request },
  question,
}: {
  open: OpenRequest;
  question: Question;
}): React.ReactNode {
  const { commands } = useWorkbench();
  const task = useTask();
  const [values, setValues] = useState<Values>(() => initialValues(question.fields));

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    task.run(async () => {
      const answers = question.fields.map(({ name }) => (values[name] ?? []).filter((value) => value !== ""));
      await commands.answer(serverId, request.id, elicitationAccepted(question, answers));
    });
  };

  return (
    <form onSubmit={submit}>
      <h2>{question.prompt || "The agent requests input"}</h2>
      {question.url && (
        <p>
          <a href={/^https?:/i.test(question.url) ? question.url : undefined} target="_blank" rel="noreferrer">
            {question.url}
          </a>
        </p>
      )}
      <div className="fields">
        {question.fields.map((field) => (
          <Field
            key={field.name}
            field={field}
            value={values[field.name] ?? []}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
      </div>
      <Alert text={task.error} isSmall />
      <div className="choices">
        <button type="submit" className="primary" disabled={task.isBusy}>
          {question.kind === "url" ? "Done" : "Send answers"}
        </button>
        <button
          type="button"
          disabled={task.isBusy}
          onClick={() => task.run(() => commands.answer(serverId, request.id, elicitationDeclined()))}
        >
          Decline
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly field: QuestionField;
  readonly value: readonly string[];
  onChange(value: readonly string[]): void;
}

function Field({ field, value, onChange }: FieldProps): React.ReactNode {
  const { label, description, type, options, isRequired } = field;
  const name = isRequired ? `${label} *` : label;
  const control = useId();
  if (type === "boolean") {
    return (
      <label className="check">
        <input
          type="checkbox"
          checked={value[0] === "true"}
          onChange={(event) => onChange([String(event.target.checked)])}
        />
        {name} {description && <small>{description}</small>}
      </label>
    );
  }
  if (type === "choices") {
    return (
      <fieldset>
        <legend>{name}</legend>
        {options.map(({ id, label: text }) => (
          <label key={id} className="check">
            <input
              type="checkbox"
              checked={value.includes(id)}
              onChange={(event) => onChange(event.target.checked ? [...value, id] : value.filter((one) => one !== id))}
            />
            {text}
          </label>
        ))}
      </fieldset>
    );
  }
  return (
    <label htmlFor={control}>
      {name}
      {type === "choice" ? (
        <select id={control} value={value[0] ?? ""} onChange={(event) => onChange([event.target.value])}>
          <option value="">—</option>
          {options.map(({ id, label: text }) => (
            <option key={id} value={id}>
              {text}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={control}
          type={type === "text" ? "text" : "number"}
          step={type === "integer" ? 1 : "any"}
          required={isRequired}
          value={value[0] ?? ""}
          onChange={(event) => onChange([event.target.value])}
        />
      )}
      {description && <small>{description}</small>}
    </label>
  );
}

function Unknown({ open: { serverId, request } }: { readonly open: OpenRequest }): React.ReactNode {
  const { commands } = useWorkbench();
  const task = useTask();
  return (
    <>
      <h2>{request.method}</h2>
      <p className="muted">This page can only decline this request; another client may be able to answer it.</p>
      <Json value={request.params} />
      <Alert text={task.error} isSmall />
      <button
        type="button"
        disabled={task.isBusy}
        onClick={() => task.run(() => commands.decline(serverId, request.id))}
      >
        Decline
      </button>
    </>
  );
}
