/** The digit that selects an option. Hidden from screen readers, which would read it as part of the option. */

export function ShortcutDigit({ value }: { readonly value: number }): React.ReactNode {
  return (
    <span className="digit" aria-hidden="true">
      {value}
    </span>
  );
}
