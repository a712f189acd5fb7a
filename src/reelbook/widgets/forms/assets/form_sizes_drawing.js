// @ts-check
/** All targets side by side to one scale: what comes out, what is composed for it, and the canvas that this takes. */
import { made, shaped } from "../../../display/assets/table_element.js";
import { sizesComposed, sizesPreset, sizesRead } from "./form_sizes_rule.js";

/** @typedef {import("./form_sizes_rule.js").SizesFacts} SizesFacts */
/** @typedef {import("./form_sizes_rule.js").Pixels} Pixels */
/** @typedef {import("./form_sizes_rule.js").Canvas} Canvas */

// Room for one drawing, in pixels of the page; a target shows however small it is.
const SIZES_ROOM = { width: 176, height: 104, least: 2 };

/** The words for a canvas. @param {Canvas} canvas */
export function sizesCanvasText([aspect, tier, width, height]) {
  return `${aspect} at ${tier}, ${width}×${height}`;
}

/**
 * The strip of drawings; one for each entry, also for those that mean no size.
 * @param {string[]} texts
 * @param {SizesFacts} facts
 * @param {string | undefined} least
 * @param {(place: number) => void} chosen
 * @returns {HTMLElement[]}
 */
export function sizesDrawings(texts, facts, least, chosen) {
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
    const label = target.canvas ? `${name}, composed on ${sizesCanvasText(target.canvas)}` : target.size ? name : "no size yet";
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", `${place + 1}: ${label}`);
    const figure = made("figure", { class: "rbf-size", title: label, onclick: () => chosen(place) }, drawing);
    const caption = made("figcaption", { "aria-hidden": "true" }, made("span", { text: name }), made("span", { class: "rbf-caption", text: canvas }));
    figure.append(caption);
    return figure;
  });
}

/** How many pixels of the page a pixel is: the largest of all just fits. @param {Array<{size: Pixels | null, canvas: Canvas | null}>} targets */
function sizesScale(targets) {
  const sized = targets.filter(({ size }) => size);
  const widths = sized.map(({ size, canvas }) => Math.max(size?.width ?? 1, canvas?.[2] ?? 1));
  const heights = sized.map(({ size, canvas }) => Math.max(size?.height ?? 1, canvas?.[3] ?? 1));
  return Math.min(SIZES_ROOM.width / Math.max(1, ...widths), SIZES_ROOM.height / Math.max(1, ...heights));
}

/** @param {Pixels} size @param {Canvas | null} canvas @param {number} scale */
function sizesDrawn(size, canvas, scale) {
  const outer = canvas ? { width: canvas[2], height: canvas[3] } : size;
  const [width, height] = [sizesLength(outer.width, scale), sizesLength(outer.height, scale)];
  const middle = (/** @type {Pixels} */ inner, /** @type {string} */ part) => {
    const [wide, tall] = [sizesLength(inner.width, scale), sizesLength(inner.height, scale)];
    return shaped("rect", { class: part, x: 1 + (width - wide) / 2, y: 1 + (height - tall) / 2, width: wide, height: tall });
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

/** @param {number} pixels @param {number} scale */
function sizesLength(pixels, scale) {
  return Math.round(Math.max(SIZES_ROOM.least, pixels * scale) * 10) / 10;
}

/** What the lines mean. @param {SizesFacts} facts */
export function sizesLegend(facts) {
  const one = (/** @type {string} */ part, /** @type {string} */ words) => {
    const swatch = shaped("svg", { width: 14, height: 12, viewBox: "0 0 14 12", "aria-hidden": "true", focusable: "false" },
      shaped("rect", { class: part, x: 1, y: 1, width: 12, height: 10 }));
    return made("span", {}, swatch, ` ${words}`);
  };
  const parts = [one("rbf-size-target", "what you get")];
  if (facts.presets) parts.push(one("rbf-size-composed", "what is composed for it"), one("rbf-size-canvas", "the canvas used"));
  return made("div", { class: "rbf-caption rbf-size-legend" }, ...parts);
}
