/** Highlights the search text in the page, without changing what React has rendered, and scrolls to it. */

const NAME = "found";

/**
 * Highlights all occurrences of a text below an element. An empty text removes the highlights. Does nothing in browsers
 * without the CSS Custom Highlight API.
 */
export function highlightFound(box: Element | null, text: string): void {
  if (!("highlights" in CSS)) return;
  if (!box || text.trim() === "") CSS.highlights.delete(NAME);
  else CSS.highlights.set(NAME, new Highlight(...rangesOf(box, text)));
}

/** The occurrences of a text below an element. */
function rangesOf(box: Element, text: string): readonly Range[] {
  const wanted = text.trim().toLowerCase();
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && wanted !== ""; node = walker.nextNode()) {
    const content = node.nodeValue?.toLowerCase() ?? "";
    // Skips texts with letters that become longer in lower case: positions in the two versions would differ.
    if (content.length !== node.nodeValue?.length) continue;
    for (let at = content.indexOf(wanted); at >= 0; at = content.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
  }
  return ranges;
}

/** For how many frames at most to correct the position, while rows are rendered and measured. */
const FRAMES = 40;
/** For how many consecutive frames the position must need no correction. */
const STABLE = 3;

/**
 * Scrolls to the first occurrence in the found row. Rows that were never in view have only estimated heights, so the
 * position is corrected in each frame until nothing moves. Returns a function that stops this.
 */
export function scrollToFound(box: HTMLElement, text: string, offsetOfRow: () => number | undefined): () => void {
  let frame = 0;
  let stable = 0;
  let next = 0;
  const look = (): void => {
    const row = box.querySelector('[data-found="true"]');
    const before = box.scrollTop;
    if (!row) box.scrollTop = offsetOfRow() ?? before;
    else {
      const place = rangesOf(row, text).find((range) => range.getBoundingClientRect().height > 0) ?? row;
      const view = box.getBoundingClientRect();
      box.scrollTop += place.getBoundingClientRect().top - view.top - view.height / 3;
    }
    stable = row && Math.abs(box.scrollTop - before) < 2 ? stable + 1 : 0;
    frame += 1;
    if (frame < FRAMES && stable < STABLE) next = requestAnimationFrame(look);
  };
  next = requestAnimationFrame(look);
  return () => cancelAnimationFrame(next);
}
