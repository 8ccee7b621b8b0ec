/** Shows single newlines in Markdown as line breaks, because agents use them like that. */

/** The fields of a Markdown node that this module uses. */
interface Node {
  readonly type: string;
  readonly value?: string;
  children?: Node[];
}

/** A plugin for remark. It changes only text nodes, since newlines in code are shown anyway. */
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
