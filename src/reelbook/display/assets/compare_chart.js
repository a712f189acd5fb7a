// @ts-check
/** The chart of differences: the lines of the chosen pair, a mark at the present frame, and seeking by pointer. */

/** @typedef {{ssim: number[] | null, mean_absolute: number[]}} Series */

/**
 * @param {HTMLElement} root @param {import("./clock.js").Clock} clock
 * @returns {{draw: (a: number, b: number) => void}}
 */
export function compareChart(root, clock) {
  const chart = /** @type {HTMLElement | null} */ (root.querySelector("[data-rb-chart]"));
  const sentence = root.querySelector("[data-rb-differences]");
  /** @type {Record<string, Record<string, Series>>} */
  const known = JSON.parse(root.querySelector("[data-rb-data]")?.textContent || "{}");
  const note = /; (computed at [^.]*)\.$/.exec(sentence?.textContent ?? "")?.[1] ?? "";
  const mark = document.createElement("i");
  mark.className = "rb-compare-now";
  const plot = /** @type {HTMLElement | null} */ (chart?.querySelector(".rb-compare-plot") ?? null);
  plot?.append(mark);
  let length = 0;

  const move = () => {
    mark.style.left = `${(100 * clock.frame) / Math.max(length - 1, 1)}%`;
    mark.hidden = length < 2 || clock.frame >= length;
  };
  /** @param {number} a @param {number} b */
  const draw = (a, b) => {
    const series = known[clock.by]?.[[a, b].sort((one, other) => one - other).join("-")];
    length = clock.frames;
    for (const line of chart?.querySelectorAll("[data-rb-line]") ?? []) drawLine(/** @type {SVGElement} */ (line), series, length);
    if (sentence) sentence.textContent = inWords(series, note);
    move();
  };
  /** @param {PointerEvent} event */
  const seek = (event) => {
    if (!plot || length < 2) return;
    const { left, width } = plot.getBoundingClientRect();
    clock.seek(Math.round(((event.clientX - left) / width) * (length - 1)));
  };
  plot?.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    plot.setPointerCapture(event.pointerId);
    seek(event);
  });
  plot?.addEventListener("pointermove", (event) => { if (plot.hasPointerCapture(event.pointerId)) seek(event); });
  clock.addEventListener("frame", move);
  clock.addEventListener("change", move);
  return { draw };
}

/** @param {SVGElement} line @param {Series | undefined} series @param {number} length */
function drawLine(line, series, length) {
  const name = /** @type {"ssim" | "mean_absolute"} */ (line.dataset.rbLine);
  const values = series?.[name] ?? [];
  const [low, high] = name === "ssim" ? [Math.min(...values, 0.9), 1] : [0, Math.max(...values, 1)];
  line.setAttribute("points", values.map((value, frame) => `${frame},${(1 - (value - low) / (high - low)).toFixed(3)}`).join(" "));
  line.ownerSVGElement?.setAttribute("viewBox", `0 0 ${Math.max(length - 1, 1)} 1`);
  const range = line.closest(".rb-compare-panel")?.querySelector("[data-rb-range]");
  if (range) range.textContent = values.length ? rangeOf(name, values, " – ") : "not computed for these two";
}

/** @param {string} name @param {number[]} values @param {string} word */
function rangeOf(name, values, word) {
  const ends = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(name === "ssim" ? 3 : 2));
  return ends[0] === ends[1] ? ends[0] : ends.join(word);
}

/** @param {Series | undefined} series @param {string} note */
function inWords(series, note) {
  if (!series) return "The differences of these two have not been computed.";
  if (!series.mean_absolute.length) return "A and B have no frame at the same time.";
  const ssim = series.ssim ? `, SSIM ${rangeOf("ssim", series.ssim, " to ")}` : "";
  return `A and B: mean absolute difference ${rangeOf("mean_absolute", series.mean_absolute, " to ")} of 255${ssim}${note ? `; ${note}` : ""}.`;
}
