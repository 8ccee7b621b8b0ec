/** A question with one choice, several choices, or free text. */

import { type FormEvent, useState } from "react";
import { type Question, questionAnswered, questionRejected } from "sandbox-agent/convert";
import { Alert } from "../view/alert.tsx";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";
import type { OpenRequest } from "./open.ts";
import { ShortcutDigit } from "./shortcut-digit.tsx";

interface Props {
  readonly open: OpenRequest;
  readonly question: Question;
}

export function QuestionCard({ open: { serverId, request }, question }: Props): React.ReactNode {
  const { commands } = useWorkbench();
  const task = useTask();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const type = question.fields[0]?.type;

  const reply = (answers: readonly string[]): void =>
    task.run(() => commands.answer(serverId, request.id, questionAnswered([answers])));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    reply(type === "choices" ? chosen : [text]);
  };
  const reject = (
    <button
      type="button"
      className="quiet"
      disabled={task.isBusy}
      onClick={() => task.run(() => commands.answer(serverId, request.id, questionRejected()))}
    >
      Do not answer
    </button>
  );

  return (
    <>
      <h2>{question.prompt || "A question"}</h2>
      <Alert text={task.error} isSmall />
      {type === "choice" ? (
        <div className="choices">
          {question.options.map((option, index) => (
            <button
              key={option.id}
              type="button"
              data-choice={index + 1}
              disabled={task.isBusy}
              onClick={() => reply([option.id])}
            >
              <ShortcutDigit value={index + 1} /> {option.label}
            </button>
          ))}
          {reject}
        </div>
      ) : (
        <form className="choices" onSubmit={submit}>
          {type === "choices" ? (
            question.options.map((option) => (
              <label key={option.id} className="check">
                <input
                  type="checkbox"
                  checked={chosen.includes(option.id)}
                  onChange={({ target }) =>
                    setChosen(target.checked ? [...chosen, option.id] : chosen.filter((id) => id !== option.id))
                  }
                />
                {option.label}
              </label>
            ))
          ) : (
            <input aria-label="Answer" value={text} onChange={(event) => setText(event.target.value)} />
          )}
          <button type="submit" className="primary" disabled={task.isBusy}>
            Answer
          </button>
          {reject}
        </form>
      )}
    </>
  );
}
