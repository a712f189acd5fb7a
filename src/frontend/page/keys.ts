/** Answers to keys. */

/**
 * Do what a key stands for, if it is known and pressed without Ctrl, Alt and Meta; nobody else hears of it then.
 * @param known What each key does; a small letter stands for its capital, too.
 */
export function answerKey(event: KeyboardEvent, known: Record<string, (() => unknown) | undefined>) {
  const isOther = event.ctrlKey || event.altKey || event.metaKey;
  const act = isOther ? undefined : (known[event.key] ?? known[event.key.toLowerCase()]);
  if (!act) return;
  event.preventDefault(); // The page would scroll.
  event.stopPropagation(); // Jupyter would run or add a cell.
  act();
}
