// @ts-check
/** Elements in one call; text goes in as text, never as markup. */

/**
 * Words with a dot between each two of them. Each word stays on one line, and a dot at the beginning of a line is cut off.
 * @param {(string | Node)[]} words @param {Record<string, any>} [attributes]
 */
export function domDotted(words, attributes) {
  const el = dom("span", { ...attributes, class: `rb-dotted ${attributes?.class ?? ""}` });
  const line = dom("span", { class: "rb-dotted-line" });
  words.forEach((word, place) => {
    if (place) line.append(" ");
    line.append(dom("span", { class: "rb-word" }, dom("span", { class: "rb-dot", text: place ? "· " : "" }), word));
  });
  el.append(line);
  return el;
}

/**
 * @param {string} tag
 * @param {Record<string, any> | null} [attributes] `class`, `text`, `on…` for a listener; all else are attributes.
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElement}
 */
export function dom(tag, attributes, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") el.textContent = String(value);
    else if (typeof value === "function") el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) el.append(child);
  return el;
}
