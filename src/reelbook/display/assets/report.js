// @ts-check
/**
 * The script of a report, apart from its viewers: opens a run's recipe, copies code, and gives table, plots and comparisons
 * the files that the page has, each once.
 */

import { bytesOf } from "./clock_clip.js";
import { copyText } from "./copied.js";

/** Open the fold that the address names. */
function unfold() {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!(found instanceof HTMLDetailsElement)) return;
  found.open = true;
  found.scrollIntoView({ block: "nearest" });
}

/** Files that only a comparison has, by row and place. @type {Record<string, {url: string, index: any, times: number[] | null}>} */
const others = JSON.parse(document.querySelector("[data-rb-files]")?.textContent || "{}");

/** A file of the page, its clip or its picture, in full where that is beside the page. @param {number} row @param {number} place */
function fileOf(row, place) {
  const root = /** @type {(HTMLElement & {grid?: {addresses: Map<string, string>}}) | null} */ (document.querySelector("[data-rb-viewer]"));
  const box = /** @type {HTMLElement | null | undefined} */ (root?.querySelector(`figure[data-row="${row}"][data-place="${place}"] .rb-clip`));
  const { index, times } = box?.dataset ?? {};
  const url = root?.grid?.addresses.get(`${row}/${place}`);
  return others[`${row}/${place}`] ?? (url ? { url, index: JSON.parse(index ?? "null"), times: JSON.parse(times ?? "null") } : null);
}

/** What a viewer reads of it; its bytes only when they are wanted. @param {{url: string, index: any, times: number[] | null}} file */
function readable({ url, index, times }) {
  const isInside = url.startsWith("data:");
  return { index, times, get blob() { return isInside ? new Blob([bytesOf(url)], { type: url.slice(5, url.indexOf(";")) }) : bytesBeside(url); } };
}

/** A file beside the page; null on a disk, where a page may not read its neighbours. @param {string} url */
const bytesBeside = (url) => fetch(url).then((answer) => (answer.ok ? answer.blob() : null)).catch(() => null);

addEventListener("reelbook:want", (event) => {
  const { key, row, place, answer } = /** @type {CustomEvent} */ (event).detail;
  if (key !== "report") return;
  event.preventDefault();
  const file = fileOf(Number(row), Number(place));
  answer(file?.url ?? null, "There is no more of it in this page.", file && readable(file));
});

addEventListener("reelbook:is", (event) => { if (/** @type {CustomEvent} */ (event).detail.key === "report") event.preventDefault(); });

// Without a plot there is nothing for which runs would be ticked.
if (document.querySelector("[data-rb-plot]")) dispatchEvent(new CustomEvent("reelbook:listens", { detail: { group: "report", rows: [] } }));

addEventListener("hashchange", unfold);
unfold();
for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("[data-copy]"))) {
  button.hidden = false;
  const code = /** @type {HTMLElement} */ (button.parentElement?.querySelector("code"));
  button.addEventListener("click", () => copyText(button, code.textContent ?? "", code));
}
