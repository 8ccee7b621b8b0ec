/** The form for one configuration entry. */

import { textOf } from "acp-http-client/internal";
import { type FormEvent, useId, useState } from "react";
import type { ConfigKind } from "../server/api.ts";
import { Alert } from "../view/alert.tsx";
import { useTask } from "../view/task.ts";
import { editedPart, type FieldSpec, fieldsOf, readValue, shownValue, typesOf, withPart } from "./entry.ts";

interface Props {
  readonly kind: ConfigKind;
  readonly name: string | undefined;
  readonly entry: unknown;
  onSave(name: string, entry: unknown): Promise<void>;
  onCancel(): void;
}

export function ConfigForm({ kind, name, entry, onSave, onCancel }: Props): React.ReactNode {
  const part = editedPart(kind, entry);
  const types = typesOf(kind);
  const [called, setCalled] = useState(name ?? "");
  const [type, setType] = useState(textOf(part.type) ?? types[0] ?? "local");
  const [isEnabled, setIsEnabled] = useState(part.enabled !== false);
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const task = useTask();
  const fields = fieldsOf(kind, type);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const changed = fields
      .filter((field) => field.name in values)
      .map((field) => [field.name, readValue(field.control, values[field.name] ?? "")] as const);
    const enabled = kind === "mcp" && (!isEnabled || part.enabled !== undefined) ? { enabled: isEnabled } : {};
    const merged = { ...part, ...Object.fromEntries(changed), ...enabled, type };
    task.run(() => onSave(called.trim(), withPart(kind, entry, merged)));
  };

  return (
    <form className="config-form" onSubmit={submit} aria-label={name ? `Edit ${name}` : "New entry"}>
      <div className="fields">
        <label>
          Name
          <input value={called} required disabled={name !== undefined} onChange={(e) => setCalled(e.target.value)} />
        </label>
        <label>
          Type
          <select value={type} onChange={(event) => setType(event.target.value)}>
            {types.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        {fields.map((field) => (
          <Field
            key={`${type} ${field.name}`}
            field={field}
            value={values[field.name] ?? shownValue(part[field.name])}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))}
        {kind === "mcp" && (
          <label className="check">
            <input type="checkbox" checked={isEnabled} onChange={(event) => setIsEnabled(event.target.checked)} />
            Enabled
          </label>
        )}
      </div>
      <Alert text={task.error} isSmall />
      <div className="choices">
        <button type="submit" className="primary" disabled={task.isBusy}>
          Save
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

interface FieldProps {
  readonly field: FieldSpec;
  readonly value: string;
  onChange(value: string): void;
}

function Field({ field: { label, control, choices = [], hint }, value, onChange }: FieldProps): React.ReactNode {
  const controlId = useId();
  return (
    <label htmlFor={controlId}>
      {label}
      {control === "choice" ? (
        <select id={controlId} value={value} onChange={(event) => onChange(event.target.value)}>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice || "default"}
            </option>
          ))}
        </select>
      ) : control === "text" ? (
        <input id={controlId} value={value} onChange={(event) => onChange(event.target.value)} />
      ) : (
        <textarea id={controlId} rows={2} value={value} onChange={(event) => onChange(event.target.value)} />
      )}
      {hint && <small>{hint}</small>}
    </label>
  );
}
