/** Text for the clipboard. */

import { made } from "./element.ts";

const RESTORE_AFTER = 1500; // Milliseconds for which a button says what came of it.

/** Copy a text, and say on the button whether that was possible. */
export async function copyText(button: HTMLElement, text: string) {
  const label = (button.dataset.label ??= button.textContent ?? "");
  button.textContent = (await isCopied(text)) ? "Copied" : "Not copied";
  setTimeout(() => {
    button.textContent = label;
  }, RESTORE_AFTER);
}

async function isCopied(text: string) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS, and on some pages from the disk, only what is selected can be copied.
    const holder = document.body.appendChild(made("pre", { class: "rb rb-hidden", text }));
    getSelection()?.selectAllChildren(holder);
    const isDone = document.execCommand("copy");
    holder.remove();
    return isDone;
  }
}
