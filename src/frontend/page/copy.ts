/** Text for the clipboard. */

import { made } from "./element.ts";

const RESTORE_AFTER = 1500; // Milliseconds for which a button says what came of it.

/**
 * Copy a text, and say on the button whether that was possible.
 * @param shown The text on the page, to be selected where it cannot be copied.
 */
export async function copyText(button: HTMLElement, text: string, shown?: Element) {
  const label = (button.dataset.label ??= button.textContent ?? "");
  button.textContent = await copied(text, shown);
  setTimeout(() => {
    button.textContent = label;
  }, RESTORE_AFTER);
}

async function copied(text: string, shown?: Element) {
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
