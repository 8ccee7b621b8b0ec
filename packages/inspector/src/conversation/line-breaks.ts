/** Makes line breaks of single newlines in Markdown, which is what agents mean by them. */

/** The fields of a Markdown node that this module uses. */
interface Node {
  readonly type: string;
  readonly value?: string;
  children?: Node[];
}

/** A plugin for remark. It changes only text nodes: code keeps its newlines without it. */
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
