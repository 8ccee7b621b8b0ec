/** A value, readable. */

export function pretty(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? String(value));
}

export function Json({ value }: { readonly value: unknown }): React.ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <pre className="json" tabIndex={0}>
      {pretty(value)}
    </pre>
  );
}
