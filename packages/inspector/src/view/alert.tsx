/** An error message. Renders nothing if there is no error. */

interface Props {
  readonly text: string | undefined;
  readonly isSmall?: boolean;
}

export function Alert({ text, isSmall = false }: Props): React.ReactNode {
  if (!text) return null;
  return (
    <p role="alert" className={isSmall ? "alert small" : "alert"}>
      {text}
    </p>
  );
}
