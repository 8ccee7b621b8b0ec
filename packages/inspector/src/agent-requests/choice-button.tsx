/** A button that Alt and its digit press, as long as its request is the first one. */

interface Props {
  /** Its position among the buttons of the request, from 1. Only the first nine have a digit. */
  readonly digit?: number | undefined;
  readonly type?: "button" | "submit";
  readonly className?: string | undefined;
  /** For an option that can be combined or taken back: whether it is chosen. */
  readonly isPressed?: boolean;
  readonly isBusy: boolean;
  readonly children: React.ReactNode;
  onPress?(): void;
}

export function ChoiceButton(props: Props): React.ReactNode {
  const { digit, type = "button", className, isPressed, isBusy, children, onPress } = props;
  const shortcut = digit !== undefined && digit <= 9 ? digit : undefined;
  return (
    <button
      type={type}
      className={className}
      data-choice={shortcut}
      aria-pressed={isPressed}
      aria-keyshortcuts={shortcut === undefined ? undefined : `Alt+${shortcut}`}
      disabled={isBusy}
      onClick={onPress}
    >
      {/* Hidden from screen readers, which would read it as part of the option. */}
      {shortcut !== undefined && (
        <span className="digit" aria-hidden="true">
          {shortcut}
        </span>
      )}{" "}
      {children}
    </button>
  );
}
