/** A copy button in the corner of some code. */

import { CopyButton } from "./copy.tsx";

interface Props {
  /** The text to copy; called when the button is pressed. */
  text(): string;
  readonly children: React.ReactNode;
}

export function CodeBox({ text, children }: Props): React.ReactNode {
  return (
    <div className="code-box">
      {children}
      <CopyButton text={text} />
    </div>
  );
}
