// @ts-check
/** Text for the clipboard. */

import { made } from "./table_element.js";

const RESTORE_AFTER = 1500; // Milliseconds for which a button says what came of it.

/**
 * Copy a text, and say on the button whether that was possible.
 * @param {HTMLElement} button @param {string} text @param {Element} [shown] The text on the page, to be selected where it cannot be copied.
 */
export async function copyText(button, text, shown) {
  const label = (button.dataset.label ??= button.textContent ?? "");
  button.textContent = await copied(text, shown);
  setTimeout(() => { button.textContent = label; }, RESTORE_AFTER);
}

/** @param {string} text @param {Element} [shown] */
async function copied(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied";
  } catch {
    // Without TLS, and on some pages from the disk, only what is selected can be copied.
    const holder = shown ?? document.body.appendChild(made("pre", { class: "rb rb-hidden", text }));
    getSelection()?.selectAllChildren(holder);
    const isCopied = document.execCommand("copy");
    if (!shown) holder.remove();
    return isCopied ? "Copied" : shown ? "Selected" : "Not copied";
  }
}
