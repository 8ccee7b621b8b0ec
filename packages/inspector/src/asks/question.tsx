/** A question of the agent's own: one of some choices, several of them, or any text. */

import { type FormEvent, useState } from "react";
import { type Question, questionAnswered, questionRejected } from "sandbox-agent/convert";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";
import { Digit } from "./digit.tsx";
import type { OpenAsk } from "./open.ts";

interface Props {
  readonly open: OpenAsk;
  readonly question: Question;
}

export function QuestionCard({ open: { serverId, ask }, question }: Props): React.ReactNode {
  const { acting } = useWorkbench();
  const task = useTask();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const type = question.fields[0]?.type;

  const reply = (answers: readonly string[]): void =>
    task.run(() => acting.answer(serverId, ask.id, questionAnswered([answers])));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    reply(type === "choices" ? chosen : [text]);
  };
  const reject = (
    <button
      type="button"
      className="quiet"
      disabled={task.isBusy}
      onClick={() => task.run(() => acting.answer(serverId, ask.id, questionRejected()))}
    >
      Do not answer
    </button>
  );

  return (
    <>
      <h2>{question.prompt || "A question"}</h2>
      {task.error && (
        <p role="alert" className="alert small">
          {task.error}
        </p>
      )}
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
              <Digit value={index + 1} /> {option.label}
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
