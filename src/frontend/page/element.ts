/** Elements in one call, with text as text and never as markup; what keys do, and what is in view. */

/** @param attributes `text`, and functions for events such as `onclick`; all else are attributes, if they are there. */
export function made<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, any> = {},
  ...children: (Node | string | null | undefined)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = String(value);
    else if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** A button that does something. */
export function button(
  words: string | Node,
  act: (event: MouseEvent) => unknown,
  attributes: Record<string, any> = {},
) {
  return made("button", { type: "button", onclick: act, ...attributes }, words);
}

/** A list to choose one from. @param options Values with their words. */
export function choose(
  name: string,
  options: [value: string | number, words: string][],
  value: string | number,
  act: (value: string) => unknown,
) {
  const list = made("select", { "aria-label": name, title: name, onchange: () => act(list.value) });
  list.append(...options.map(([one, words]) => made("option", { value: one, selected: one === value }, words)));
  return list;
}

/** A slider, whose keys move it and not the clips around it. */
export function slider(name: string, act: (value: number) => void, attributes: Record<string, any> = {}) {
  const input = made("input", {
    type: "range",
    "aria-label": name,
    oninput: () => act(Number(input.value)),
    onkeydown: (event: KeyboardEvent) => /^(Arrow|Page|Home|End)/.test(event.key) && event.stopPropagation(),
    ...attributes,
  });
  return input;
}

/** Buttons of which one is pressed, in a group. @returns The group, and what presses another one. */
export function choices(name: string, words: string[], act: (place: number) => void) {
  const buttons = words.map((word, place) => button(made("bdi", {}, word), () => act(place)));
  const group = made("span", { class: "rb-group", role: "group", "aria-label": name }, ...buttons);
  const press = (pressed: number) =>
    buttons.forEach((one, place) => one.setAttribute("aria-pressed", String(place === pressed)));
  return { group, press };
}

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

/** Whether a key is typed into a field, which keeps it. */
export const isWriting = ({ target }: Event) =>
  (target as HTMLElement).matches("select, textarea, input:not([type=range])");

/** Says whether an element is in view, and whenever that changes; leaving the page counts. */
export function watchSight(element: Element, change: (isInView: boolean) => void) {
  new IntersectionObserver((seen) => change(seen[seen.length - 1].isIntersecting)).observe(element);
}

/** The data that Python has written into an element. */
export const payloadOf = (root: Element) =>
  JSON.parse(root.querySelector(':scope > script[type="application/json"]')?.textContent ?? "{}");
