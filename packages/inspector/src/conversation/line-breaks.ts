/** Keeps single newlines of Markdown as line breaks, as agents mean them. */

/** The part of a Markdown node that matters here. */
interface Node {
  readonly type: string;
  readonly value?: string;
  children?: Node[];
}

/** A plugin of remark. Code is not text, and keeps its newlines anyway. */
export function remarkLineBreaks(): (tree: Node) => void {
  return withBreaks;
}

function withBreaks(node: Node): void {
  if (!node.children) return;
  node.children = node.children.flatMap((child) => {
    withBreaks(child);
    if (child.type !== "text" || !child.value?.includes("\n")) return [child];
    return child.value
      .split("\n")
      .flatMap((value, index): Node[] => [
        ...(index > 0 ? [{ type: "break" }] : []),
        ...(value === "" ? [] : [{ type: "text", value }]),
      ]);
  });
}
