/** The chart of differences: the lines of the chosen pair, a mark at the present frame, and seeking by pointer. */

import type { Clock } from "../media/clock.ts";

export type Series = { ssim: number[] | null; mean_absolute: number[] };

export function compareChart(root: HTMLElement, clock: Clock): { draw: (a: number, b: number) => void } {
  const chart = root.querySelector("[data-rb-chart]") as HTMLElement | null;
  const sentence = root.querySelector("[data-rb-differences]");
  const known: Record<string, Record<string, Series>> = JSON.parse(
    root.querySelector("[data-rb-data]")?.textContent || "{}",
  );
  const note = /; (computed at [^.]*)\.$/.exec(sentence?.textContent ?? "")?.[1] ?? "";
  const mark = document.createElement("i");
  mark.className = "rb-compare-now";
  const plot = (chart?.querySelector(".rb-compare-plot") ?? null) as HTMLElement | null;
  plot?.append(mark);
  let length = 0;

  const move = () => {
    mark.style.left = `${(100 * clock.frame) / Math.max(length - 1, 1)}%`;
    mark.hidden = length < 2 || clock.frame >= length;
  };
  const draw = (a: number, b: number) => {
    const series = known[clock.by]?.[[a, b].sort((one, other) => one - other).join("-")];
    length = clock.frames;
    for (const line of chart?.querySelectorAll("[data-rb-line]") ?? []) drawLine(line as SVGElement, series, length);
    if (sentence) sentence.textContent = inWords(series, note);
    move();
  };
  const seek = (event: PointerEvent) => {
    if (!plot || length < 2) return;
    const { left, width } = plot.getBoundingClientRect();
    clock.seek(Math.round(((event.clientX - left) / width) * (length - 1)));
  };
  plot?.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    plot.setPointerCapture(event.pointerId);
    seek(event);
  });
  plot?.addEventListener("pointermove", (event) => {
    if (plot.hasPointerCapture(event.pointerId)) seek(event);
  });
  clock.addEventListener("frame", move);
  clock.addEventListener("change", move);
  return { draw };
}

function drawLine(line: SVGElement, series: Series | undefined, length: number) {
  const name = line.dataset.rbLine as "ssim" | "mean_absolute";
  const values = series?.[name] ?? [];
  const [low, high] = name === "ssim" ? [Math.min(...values, 0.9), 1] : [0, Math.max(...values, 1)];
  line.setAttribute(
    "points",
    values.map((value, frame) => `${frame},${(1 - (value - low) / (high - low)).toFixed(3)}`).join(" "),
  );
  line.ownerSVGElement?.setAttribute("viewBox", `0 0 ${Math.max(length - 1, 1)} 1`);
  const range = line.closest(".rb-compare-panel")?.querySelector("[data-rb-range]");
  if (range) range.textContent = values.length ? rangeOf(name, values, " – ") : "not computed for these two";
}

function rangeOf(name: string, values: number[], word: string) {
  const ends = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(name === "ssim" ? 3 : 2));
  return ends[0] === ends[1] ? ends[0] : ends.join(word);
}

function inWords(series: Series | undefined, note: string) {
  if (!series) return "The differences of these two have not been computed.";
  if (!series.mean_absolute.length) return "A and B have no frame at the same time.";
  const ssim = series.ssim ? `, SSIM ${rangeOf("ssim", series.ssim, " to ")}` : "";
  return `A and B: mean absolute difference ${rangeOf("mean_absolute", series.mean_absolute, " to ")} of 255${ssim}${note ? `; ${note}` : ""}.`;
}
