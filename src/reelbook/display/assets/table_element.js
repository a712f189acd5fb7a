// @ts-check
/** Elements in one call; text goes in as text, never as markup. */

/**
 * Words with dots between them, of which no line ends on a dot.
 * @param {string | (Node | string)[]} words A line with dots in it, or the words alone. @param {Record<string, any>} [attributes]
 */
export function dotted(words, attributes = {}) {
  const all = typeof words === "string" ? words.split(" · ").filter(Boolean) : words;
  const parts = all.flatMap((word, place) => {
    const dot = place ? made("span", { class: "rb-dot" }, "· ") : null;
    return [place ? " " : "", made("span", { class: "rb-word" }, dot, typeof word === "string" ? made("bdi", {}, word) : word)];
  });
  return made("span", { ...attributes, class: `rb-dotted ${attributes.class ?? ""}` }, made("span", { class: "rb-dotted-line" }, ...parts));
}

/**
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `text`, and functions for events such as `onclick`; all else are attributes, if they are there.
 * @param {(Node | string | null | undefined)[]} children
 * @returns {HTMLElement}
 */
export function made(tag, attributes = {}, ...children) {
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

/** A part of a drawing. @param {string} tag @param {Record<string, string | number>} attributes @param {Element[]} children @returns {any} */
export function shaped(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}
