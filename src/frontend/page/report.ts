/**
 * The script of a report, apart from its viewers: opens a run's recipe, copies code, and gives table, plots and comparisons
 * the files that the page has, each once.
 */

import "../compare/compare.ts";
import "../grid/grid.ts";
import "../plot/plot.ts";
import "../table/table.ts";
import { bytesOf } from "../media/clip.ts";
import { copyText } from "./copy.ts";

/** Open the fold that the address names. */
function unfold() {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!(found instanceof HTMLDetailsElement)) return;
  found.open = true;
  found.scrollIntoView({ block: "nearest" });
}

/** Files that only a comparison has, by row and place. */
const others: Record<string, { url: string; index: any; times: number[] | null }> = JSON.parse(
  document.querySelector("[data-rb-files]")?.textContent || "{}",
);

/** A file of the page, its clip or its picture, in full where that is beside the page. */
function fileOf(row: number, place: number) {
  const root = document.querySelector("[data-rb-viewer]") as
    | (HTMLElement & { grid?: { addresses: Map<string, string> } })
    | null;
  const box = root?.querySelector(`figure[data-row="${row}"][data-place="${place}"] .rb-clip`) as
    | HTMLElement
    | null
    | undefined;
  const { index, times } = box?.dataset ?? {};
  const url = root?.grid?.addresses.get(`${row}/${place}`);
  return (
    others[`${row}/${place}`] ??
    (url ? { url, index: JSON.parse(index ?? "null"), times: JSON.parse(times ?? "null") } : null)
  );
}

/** What a viewer reads of it; its bytes only when they are wanted. */
function readable({ url, index, times }: { url: string; index: any; times: number[] | null }) {
  const isInside = url.startsWith("data:");
  return {
    index,
    times,
    get blob() {
      return isInside ? new Blob([bytesOf(url)], { type: url.slice(5, url.indexOf(";")) }) : bytesBeside(url);
    },
  };
}

/** A file beside the page; null on a disk, where a page may not read its neighbours. */
const bytesBeside = (url: string) =>
  fetch(url)
    .then((answer) => (answer.ok ? answer.blob() : null))
    .catch(() => null);

addEventListener("reelbook:want", (event) => {
  const { key, row, place, answer } = (event as CustomEvent).detail;
  if (key !== "report") return;
  event.preventDefault();
  const file = fileOf(Number(row), Number(place));
  answer(file?.url ?? null, "The rest is not in this page.", file && readable(file));
});

addEventListener("reelbook:is", (event) => {
  if ((event as CustomEvent).detail.key === "report") event.preventDefault();
});

// Without a plot there is nothing for which runs would be ticked.
if (document.querySelector("[data-rb-plot]"))
  dispatchEvent(new CustomEvent("reelbook:listens", { detail: { group: "report", rows: [] } }));

addEventListener("hashchange", unfold);
unfold();
for (const button of document.querySelectorAll("[data-copy]") as NodeListOf<HTMLButtonElement>) {
  button.hidden = false;
  const code = button.parentElement?.querySelector("code") as HTMLElement;
  button.addEventListener("click", () => copyText(button, code.textContent ?? "", code));
}
