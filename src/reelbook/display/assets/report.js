// @ts-check
/**
 * The script of a report, apart from clips and table: opens a run's recipe, copies code, and gives the table the addresses of clips.
 */

import { copyText } from "./copied.js";

/** Open the fold that the address names. */
function unfold() {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!(found instanceof HTMLDetailsElement)) return;
  found.open = true;
  found.scrollIntoView({ block: "nearest" });
}

/** The address of a file of the page: of its clip, or of its picture. @param {number} row @param {number} place */
function addressOf(row, place) {
  const root = /** @type {(HTMLElement & {grid?: {addresses: Map<string, string>}}) | null} */ (document.querySelector("[data-rb-viewer]"));
  return root?.grid?.addresses.get(`${row}/${place}`) || null;
}

addEventListener("reelbook:want", (event) => {
  const { key, row, place, answer } = /** @type {CustomEvent} */ (event).detail;
  if (key !== "report") return;
  event.preventDefault();
  answer(addressOf(Number(row), Number(place)), "There is no more of it in this page.");
});

addEventListener("hashchange", unfold);
unfold();
for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-copy]"))) {
  button.hidden = false;
  const code = /** @type {HTMLElement} */ (button.parentElement?.querySelector("code"));
  button.addEventListener("click", () => copyText(button, code.textContent ?? "", code));
}
