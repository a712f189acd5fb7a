// @ts-check
/** Elements of a table, in which a text stays a text. */

/**
 * Words with dots between them, of which no line ends on a dot.
 * @param {string} line Words with dots between them.
 */
export function dotted(line) {
  const words = line.split(" · ").filter(Boolean).flatMap((word, place) => {
    const dot = place ? [made("span", { class: "rb-dot" }, "· ")] : [];
    return [" ", made("span", { class: "rb-word" }, ...dot, made("bdi", {}, word))];
  });
  return made("span", { class: "rb-dotted" }, made("span", { class: "rb-dotted-line" }, ...words.slice(1)));
}

/**
 * An element with attributes of ours, and children of which strings become text.
 * @param {string} tag @param {Record<string, string>} attributes @param {(Node | string)[]} children
 */
export function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
