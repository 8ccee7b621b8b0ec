/** The slash commands that match the input. The input keeps the focus; the arrow keys select a command. */

import type { JsonObject } from "acp-http-client/internal";
import { textOf } from "acp-http-client/internal";

interface Props {
  readonly id: string;
  readonly commands: readonly JsonObject[];
  /** The index of the command that Enter would choose. */
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
          // Chosen on pointer down, and without the default action, so that the input keeps the focus.
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
