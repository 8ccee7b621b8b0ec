/** One field of a form. The options of a choice are shown as buttons, unless there are many. */

import { useId } from "react";
import type { QuestionField } from "sandbox-agent/convert";
import { ChoiceButton } from "./choice-button.tsx";

/** If a choice has more options than this, it is shown as a drop-down list. */
const BUTTONS = 6;

interface Props {
  readonly field: QuestionField;
  readonly value: readonly string[];
  readonly isBusy: boolean;
  onChange(value: readonly string[]): void;
}

export function Field(props: Props): React.ReactNode {
  const { field, value, onChange } = props;
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
  if (type === "choices" || (type === "choice" && options.length <= BUTTONS)) return <Options {...props} name={name} />;
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

/** Options as buttons. One or several can be chosen; pressing a chosen button again takes the choice back. */
function Options({ field, name, value, isBusy, onChange }: Props & { readonly name: string }): React.ReactNode {
  const press = (id: string): void => {
    if (value.includes(id)) onChange(value.filter((one) => one !== id));
    else onChange(field.type === "choices" ? [...value, id] : [id]);
  };
  return (
    <fieldset className="options">
      <legend>{name}</legend>
      <div className="choices">
        {field.options.map(({ id, label }) => (
          <ChoiceButton key={id} isPressed={value.includes(id)} isBusy={isBusy} onPress={() => press(id)}>
            {label}
          </ChoiceButton>
        ))}
      </div>
      {field.description && <small className="muted">{field.description}</small>}
    </fieldset>
  );
}
