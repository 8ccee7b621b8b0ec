/** A question with one choice, several choices, or free text. */

import { type FormEvent, useState } from "react";
import { type Question, questionAnswered, questionRejected } from "sandbox-agent/convert";
import { Alert } from "../view/alert.tsx";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";
import { ChoiceButton } from "./choice-button.tsx";
import type { OpenRequest } from "./open.ts";

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
  const { options } = question;

  const reply = (answers: readonly string[]): void =>
    task.run(() => commands.answer(serverId, request.id, questionAnswered([answers])));
  const reject = (): void => task.run(() => commands.answer(serverId, request.id, questionRejected()));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    reply(type === "choices" ? chosen : [text]);
  };
  const toggle = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);

  return (
    <form onSubmit={submit}>
      <h2>{question.prompt || "A question"}</h2>
      <Alert text={task.error} isSmall />
      {type === "text" && <input aria-label="Answer" value={text} onChange={(event) => setText(event.target.value)} />}
      <div className="choices">
        {options.map(({ id, label }, index) => (
          <ChoiceButton
            key={id}
            digit={index + 1}
            isBusy={task.isBusy}
            onPress={() => (type === "choices" ? toggle(id) : reply([id]))}
            {...(type === "choices" && { isPressed: chosen.includes(id) })}
          >
            {label}
          </ChoiceButton>
        ))}
        {type !== "choice" && (
          <ChoiceButton type="submit" className="primary" digit={options.length + 1} isBusy={task.isBusy}>
            Answer
          </ChoiceButton>
        )}
        <ChoiceButton
          className="quiet"
          digit={options.length + (type === "choice" ? 1 : 2)}
          isBusy={task.isBusy}
          onPress={reject}
        >
          Do not answer
        </ChoiceButton>
      </div>
    </form>
  );
}
