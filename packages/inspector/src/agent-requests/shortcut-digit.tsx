/** The key that picks a choice. Read aloud it would be taken for a part of the choice. */

export function ShortcutDigit({ value }: { readonly value: number }): React.ReactNode {
  return (
    <span className="digit" aria-hidden="true">
      {value}
    </span>
  );
}
