// @ts-check
/** Elements of a table, in which a text stays a text. */

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
