/** A button that answers an agent request. If the request is the first one shown, Alt and a digit press the button. */

interface Props {
  /** The position of the button in its request, counted from 1. Only the first nine buttons have a digit. */
  readonly digit?: number | undefined;
  readonly type?: "button" | "submit";
  readonly className?: string | undefined;
  /** Whether the option is chosen. Set only for options that can be combined or taken back. */
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
      {/* The digit is hidden from screen readers, which would read it as part of the option. */}
      {shortcut !== undefined && (
        <span className="digit" aria-hidden="true">
          {shortcut}
        </span>
      )}{" "}
      {children}
    </button>
  );
}
