// @ts-check
/** Buttons that look like text. */
import { made } from "../../../display/assets/table_element.js";

/**
 * A button that looks like text. While its `aria-disabled` is true it does nothing, and keeps the focus, which a disabled one would lose.
 * @param {string} text @param {() => void} act @param {Record<string, any>} [attributes]
 * @returns {HTMLButtonElement}
 */
export function quietButton(text, act, attributes = {}) {
  const press = (/** @type {any} */ { currentTarget }) => { if (currentTarget.getAttribute("aria-disabled") !== "true") act(); };
  return /** @type {HTMLButtonElement} */ (made("button", { type: "button", class: "rbf-quiet", text, ...attributes, onclick: press }));
}
