// @ts-check
/** Lists whose elements stay as long as what they stand for. */

/**
 * Put one element for each item into a parent, in their order.
 * @template T @template {{el: HTMLElement}} O
 * @param {HTMLElement} parent @param {Map<string, O>} ones Those that are there, by key. @param {T[]} items
 * @param {{key: (item: T) => string, make: (item: T) => O, draw: (one: O, item: T) => void, gone: (one: O) => void}} how
 */
export function drawKeyed(parent, ones, items, { key, make, draw, gone }) {
  const keys = new Set(items.map(key));
  for (const [name, one] of ones) {
    if (keys.has(name)) continue;
    gone(one);
    one.el.remove();
    ones.delete(name);
  }
  items.forEach((item, place) => {
    const one = ones.get(key(item)) ?? make(item);
    ones.set(key(item), one);
    draw(one, item);
    // Moved only where it is not in its place: a move takes the focus away.
    if (parent.children[place] !== one.el) parent.insertBefore(one.el, parent.children[place] ?? null);
  });
}
