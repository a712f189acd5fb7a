/** Answers to keys. */

/** Do what a key stands for, if it is known and pressed without Ctrl, Alt and Meta; nobody else hears of it then. */
export function answerKey(event: KeyboardEvent, known: Record<string, (() => unknown) | undefined>) {
  const act = event.ctrlKey || event.altKey || event.metaKey ? undefined : known[event.key];
  if (!act) return;
  event.preventDefault(); // The page would scroll.
  event.stopPropagation(); // Jupyter would run or add a cell.
  act();
}
