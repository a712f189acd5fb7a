/** The chart of differences: the lines of the chosen pair, a mark at the present frame, and seeking by pointer. */

import type { Clock } from "../media/clock.ts";
import { made, slider } from "../page/element.ts";

/** What Python has drawn and written of two files. */
type Pair = { words: string; lines: Record<string, { points: string; range: string }> };

/** @returns Draws the lines of two files. */
export function compareChart(root: HTMLElement, clock: Clock): (a: number, b: number) => void {
  const plot = root.querySelector<HTMLElement>("[data-rb-chart] .rb-compare-plot");
  const sentence = root.querySelector("[data-rb-differences]");
  const pairs: Record<string, Record<string, Pair>> = JSON.parse(
    root.querySelector("[data-rb-data]")?.textContent || "{}",
  );
  const mark = made("i", { class: "rb-compare-now" });
  // The time line is the one that keys and screen readers have.
  const line = slider("Frame", (frame) => clock.seek(frame), { tabindex: -1, "aria-hidden": "true" });
  const move = () => {
    mark.style.left = `${100 * clock.shareOf(clock.frame)}%`;
    mark.hidden = clock.frames < 2;
    line.max = String(clock.frames - 1);
    line.value = String(clock.frame);
  };
  plot?.append(mark, line);
  clock.addEventListener("frame", move);
  clock.addEventListener("change", move);
  return (a, b) => {
    const pair = pairs[clock.by]?.[`${Math.min(a, b)}-${Math.max(a, b)}`];
    for (const shape of plot?.querySelectorAll<SVGElement>("[data-rb-line]") ?? []) {
      const line = pair?.lines[shape.dataset.rbLine ?? ""];
      shape.setAttribute("points", line?.points ?? "");
      shape.ownerSVGElement?.setAttribute("viewBox", `0 0 ${Math.max(clock.frames - 1, 1)} 1`);
      const range = shape.closest(".rb-compare-panel")?.querySelector("[data-rb-range]");
      if (range) range.textContent = line?.range ?? "";
    }
    if (sentence) sentence.textContent = pair?.words ?? "The differences of these two have not been computed.";
    move();
  };
}
