/** The mode, the model and the other config options of a session. */

import { isObject, type JsonObject, listOf, objectOf, textOf } from "acp-http-client/internal";
import type { SessionState } from "../journal/types.ts";
import { useWorkbench } from "../view/context.ts";
import { useTask } from "../view/task.ts";

interface Props {
  readonly serverId: string;
  readonly session: SessionState;
  readonly isDisabled: boolean;
}

export function Settings({ serverId, session, isDisabled }: Props): React.ReactNode {
  const { commands } = useWorkbench();
  const task = useTask();
  const { id: sessionId, configOptions, modes } = session;
  const hasModeOption = configOptions.some(({ category }) => category === "mode");
  const available = listOf(modes?.availableModes).filter(isObject);

  const setOption = (configId: unknown, value: unknown): void =>
    task.run(() => commands.request(serverId, "session/set_config_option", { sessionId, configId, value }));

  return (
    <>
      {!hasModeOption && available.length > 0 && (
        <Select
          name="Mode"
          value={textOf(modes?.currentModeId)}
          options={available.map(({ id, name }) => ({ id: String(id), name: textOf(name) ?? String(id) }))}
          isDisabled={isDisabled || task.isBusy}
          onChange={(modeId) => task.run(() => commands.request(serverId, "session/set_mode", { sessionId, modeId }))}
        />
      )}
      {configOptions.map((option) =>
        option.type === "boolean" ? (
          <label key={String(option.id)} className="check">
            <input
              type="checkbox"
              checked={option.currentValue === true}
              disabled={isDisabled || task.isBusy}
              onChange={(event) => setOption(option.id, event.target.checked)}
            />
            {textOf(option.name) ?? String(option.id)}
          </label>
        ) : (
          <Select
            key={String(option.id)}
            name={textOf(option.name) ?? String(option.id)}
            value={textOf(option.currentValue)}
            options={optionsOf(option)}
            isDisabled={isDisabled || task.isBusy}
            onChange={(value) => setOption(option.id, value)}
          />
        ),
      )}
      {task.error && (
        <span role="alert" className="alert small">
          {task.error}
        </span>
      )}
    </>
  );
}

interface Choice {
  readonly id: string;
  readonly name: string;
}

/** The values of an option, flat or grouped. */
function optionsOf(option: JsonObject): readonly Choice[] {
  return listOf(option.options)
    .map(objectOf)
    .flatMap((entry) => (Array.isArray(entry.options) ? entry.options.map(objectOf) : [entry]))
    .map(({ value, name }) => ({ id: String(value), name: textOf(name) ?? String(value) }));
}

interface SelectProps {
  readonly name: string;
  readonly value: string | undefined;
  readonly options: readonly Choice[];
  readonly isDisabled: boolean;
  onChange(id: string): void;
}

function Select({ name, value, options, isDisabled, onChange }: SelectProps): React.ReactNode {
  return (
    <label className="setting">
      <span>{name}</span>
      <select
        aria-label={name}
        value={value ?? ""}
        disabled={isDisabled}
        onChange={(event) => onChange(event.target.value)}
      >
        {value === undefined && <option value="">—</option>}
        {options.map(({ id, name: text }) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
