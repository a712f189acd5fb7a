/** All targets side by side to one scale: what comes out, what is composed for it, and the canvas that this takes. */
import { made, shaped } from "../page/element.ts";
import { type Canvas, type Pixels, type SizesFacts, sizesComposed, sizesPreset, sizesRead } from "./sizes_rule.ts";

// Room for one drawing, in pixels of the page; a target shows however small it is.
const SIZES_ROOM = { width: 176, height: 104, least: 2 };

/** The words for a canvas. */
export function sizesCanvasText([aspect, tier, width, height]: Canvas) {
  return `${aspect} at ${tier}, ${width}×${height}`;
}

/** The strip of drawings; one for each entry, also for those that mean no size. */
export function sizesDrawings(
  texts: string[],
  facts: SizesFacts,
  least: string | undefined,
  chosen: (place: number) => void,
): HTMLElement[] {
  const targets = texts.map((text) => {
    const size = sizesRead(text);
    const canvas = size && sizesPreset(size, facts, least);
    return { text, size: size && (canvas || !facts.presets) ? size : null, canvas };
  });
  const scale = sizesScale(targets);
  return targets.map((target, place) => {
    const drawing = target.size ? sizesDrawn(target.size, target.canvas, scale) : sizesUnknown();
    const name = target.size ? target.text.replace("x", "×") : "–";
    const canvas = target.canvas ? `${target.canvas[0]} at ${target.canvas[1]}` : "";
    const label = target.canvas
      ? `${name}, composed on ${sizesCanvasText(target.canvas)}`
      : target.size
        ? name
        : "no size yet";
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", `${place + 1}: ${label}`);
    const figure = made("figure", { class: "rbf-size", title: label, onclick: () => chosen(place) }, drawing);
    const caption = made(
      "figcaption",
      { "aria-hidden": "true" },
      made("span", { text: name }),
      made("span", { class: "rbf-caption", text: canvas }),
    );
    figure.append(caption);
    return figure;
  });
}

/** How many pixels of the page a pixel is: the largest of all just fits. */
function sizesScale(targets: Array<{ size: Pixels | null; canvas: Canvas | null }>) {
  const sized = targets.filter(({ size }) => size);
  const widths = sized.map(({ size, canvas }) => Math.max(size?.width ?? 1, canvas?.[2] ?? 1));
  const heights = sized.map(({ size, canvas }) => Math.max(size?.height ?? 1, canvas?.[3] ?? 1));
  return Math.min(SIZES_ROOM.width / Math.max(1, ...widths), SIZES_ROOM.height / Math.max(1, ...heights));
}

function sizesDrawn(size: Pixels, canvas: Canvas | null, scale: number) {
  const outer = canvas ? { width: canvas[2], height: canvas[3] } : size;
  const [width, height] = [sizesLength(outer.width, scale), sizesLength(outer.height, scale)];
  const middle = (inner: Pixels, part: string) => {
    const [wide, tall] = [sizesLength(inner.width, scale), sizesLength(inner.height, scale)];
    return shaped("rect", {
      class: part,
      x: 1 + (width - wide) / 2,
      y: 1 + (height - tall) / 2,
      width: wide,
      height: tall,
    });
  };
  const parts = [middle(size, "rbf-size-target")];
  if (canvas) parts.unshift(middle(outer, "rbf-size-canvas"), middle(sizesComposed(canvas, size), "rbf-size-composed"));
  const box = { width: width + 2, height: height + 2 };
  return shaped("svg", { ...box, viewBox: `0 0 ${box.width} ${box.height}`, focusable: "false" }, ...parts);
}

function sizesUnknown() {
  const rect = shaped("rect", { class: "rbf-size-canvas", x: 1, y: 1, width: 30, height: 30 });
  return shaped("svg", { width: 32, height: 32, viewBox: "0 0 32 32", focusable: "false" }, rect);
}

function sizesLength(pixels: number, scale: number) {
  return Math.round(Math.max(SIZES_ROOM.least, pixels * scale) * 10) / 10;
}

/** What the lines mean. */
export function sizesLegend(facts: SizesFacts) {
  const one = (part: string, words: string) => {
    const swatch = shaped(
      "svg",
      { width: 14, height: 12, viewBox: "0 0 14 12", "aria-hidden": "true", focusable: "false" },
      shaped("rect", { class: part, x: 1, y: 1, width: 12, height: 10 }),
    );
    return made("span", {}, swatch, ` ${words}`);
  };
  const parts = [one("rbf-size-target", "what you get")];
  if (facts.presets)
    parts.push(one("rbf-size-composed", "what is composed for it"), one("rbf-size-canvas", "the canvas used"));
  return made("div", { class: "rbf-caption rbf-size-legend" }, ...parts);
}
