/** Lists whose elements stay as long as what they stand for. */

/** Put one element for each item into a parent, in their order. @param ones Those that are there, by key. */
export function drawKeyed<T, O extends { el: HTMLElement }>(
  parent: HTMLElement,
  ones: Map<string, O>,
  items: T[],
  {
    key,
    make,
    draw,
    gone,
  }: { key: (item: T) => string; make: (item: T) => O; draw: (one: O, item: T) => void; gone: (one: O) => void },
) {
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
