/**
 * The script of a report, apart from its viewers: copies code, and gives table, plots and comparisons the files that the page
 * has, each once.
 */

import "../compare/compare.ts";
import "../grid/grid.ts";
import "../plot/plot.ts";
import "../table/table.ts";
import type { Grid } from "../grid/grid.ts";
import { sourceOf } from "../media/clip.ts";
import { copyText } from "./copy.ts";

addEventListener("reelbook:want", (event) => {
  const { key, row, place, answer } = (event as CustomEvent).detail;
  if (key !== "report") return;
  event.preventDefault();
  const root = document.querySelector<HTMLElement & { grid?: Grid }>("[data-rb-viewer]");
  const box = root?.querySelector<HTMLElement>(`figure[data-row="${row}"][data-place="${place}"] .rb-clip`);
  const url = root?.grid?.addresses.get(`${row}/${place}`);
  if (box && url) answer(url, "", sourceOf(box, url));
  else answer(null, "The rest is not in this page.");
});

addEventListener("reelbook:is", (event) => {
  if ((event as CustomEvent).detail.key === "report") event.preventDefault();
});

// Without a plot there is nothing for which runs would be ticked.
if (document.querySelector("[data-rb-plot]"))
  dispatchEvent(new CustomEvent("reelbook:listens", { detail: { group: "report", rows: [] } }));

for (const button of document.querySelectorAll<HTMLButtonElement>("[data-copy]")) {
  button.hidden = false;
  const code = button.parentElement?.querySelector("code") as HTMLElement;
  button.addEventListener("click", () => copyText(button, code.textContent ?? ""));
}
