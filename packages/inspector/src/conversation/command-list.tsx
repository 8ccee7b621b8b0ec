/** The commands that what was typed may become. Chosen with the arrows from the field that is typed in. */

import type { JsonObject } from "acp-http-client/internal";
import { textOf } from "acp-http-client/internal";

interface Props {
  readonly id: string;
  readonly commands: readonly JsonObject[];
  /** Which one the Enter key would take. */
  readonly active: number;
  onChoose(command: JsonObject): void;
}

export function optionId(list: string, index: number): string {
  return `${list}-${index}`;
}

export function CommandList({ id, commands, active, onChoose }: Props): React.ReactNode {
  return (
    <div className="commands" id={id} role="listbox" aria-label="Commands">
      {commands.map((command, index) => (
        <div
          key={String(command.name)}
          id={optionId(id, index)}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          // The field keeps the focus, so that typing goes on.
          onPointerDown={(event) => {
            event.preventDefault();
            onChoose(command);
          }}
        >
          <strong>/{String(command.name)}</strong> <small>{textOf(command.description)}</small>
        </div>
      ))}
    </div>
  );
}
