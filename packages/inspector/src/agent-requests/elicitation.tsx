/** An elicitation, which is a form or a page to visit. Also shows agent requests with unknown methods. */

import { type FormEvent, useState } from "react";
import { elicitationAccepted, elicitationDeclined, type Question, type QuestionField } from "sandbox-agent/convert";
import { Json } from "../text/json.tsx";
import { Alert } from "../view/alert.tsx";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";
import { ChoiceButton } from "./choice-button.tsx";
import { Field } from "./field.tsx";
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

/** The only field of a form, if it is a choice. Its options are then buttons that answer the form at once. */
function onlyChoice({ fields }: Question): QuestionField | undefined {
  const [first, second] = fields;
  return first?.type === "choice" && second === undefined ? first : undefined;
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
  const only = onlyChoice(question);

  const accept = (given: Values): void =>
    task.run(async () => {
      const answers = question.fields.map(({ name }) => (given[name] ?? []).filter((value) => value !== ""));
      await commands.answer(serverId, request.id, elicitationAccepted(question, answers));
    });
  const decline = (): void => task.run(() => commands.answer(serverId, request.id, elicitationDeclined()));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    accept(values);
  };

  return (
    <form onSubmit={submit}>
      <h2>{question.prompt || only?.label || "The agent requests input"}</h2>
      {question.url && (
        <p>
          <a href={/^https?:/i.test(question.url) ? question.url : undefined} target="_blank" rel="noreferrer">
            {question.url}
          </a>
        </p>
      )}
      {only?.description && <p className="muted">{only.description}</p>}
      {!only && question.fields.length > 0 && (
        <div className="fields">
          {question.fields.map((field) => (
            <Field
              key={field.name}
              field={field}
              value={values[field.name] ?? []}
              isBusy={task.isBusy}
              onChange={(value) => setValues({ ...values, [field.name]: value })}
            />
          ))}
        </div>
      )}
      <Alert text={task.error} isSmall />
      <div className="choices">
        {only ? (
          only.options.map(({ id, label }, index) => (
            <ChoiceButton
              key={id}
              digit={index + 1}
              className={only.default === id ? "primary" : undefined}
              isBusy={task.isBusy}
              onPress={() => accept({ [only.name]: [id] })}
            >
              {label}
            </ChoiceButton>
          ))
        ) : (
          <ChoiceButton type="submit" className="primary" digit={1} isBusy={task.isBusy}>
            {question.kind === "url" ? "Done" : "Send answers"}
          </ChoiceButton>
        )}
        <ChoiceButton digit={(only?.options.length ?? 1) + 1} isBusy={task.isBusy} onPress={decline}>
          Decline
        </ChoiceButton>
      </div>
    </form>
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
      <div className="choices">
        <ChoiceButton
          digit={1}
          isBusy={task.isBusy}
          onPress={() => task.run(() => commands.decline(serverId, request.id))}
        >
          Decline
        </ChoiceButton>
      </div>
    </>
  );
}
