// @ts-check
/** What a point of a plot says of its run: poster, values and caption, beside the point and within the plot. */

import { dotted, made } from "./table_element.js";

const GAP = 14; // Pixels between a point and its card.
const MAX_FACTS = 8, MAX_NARROW = 5;
const NARROW = 420; // Pixels of a plot of which a card leaves little.

/**
 * Whether a part of a caption is what a fact says: with its name or, as a prompt, without it, and perhaps cut.
 * @param {string} part @param {{name: string, words: (string | null)[]}} fact @param {number} point
 */
export function isSaidBy(part, { name, words }, point) {
  const said = words[point];
  if (said === null) return false;
  return part === said || part === `${name} ${said}` || (part.endsWith("…") && said.startsWith(part.slice(0, -1)));
}

/** The card of one plot; the reader's programs get the same words from the button on the point. */
export class PlotCard {
  /** @param {import("./plot.js").Plot} plot */
  constructor(plot) {
    this.plot = plot;
    this.node = made("div", { class: "rb-card", hidden: "", "aria-hidden": "true" });
    /** @type {number | null} */
    this.point = null;
  }

  hide() {
    this.node.hidden = true;
    this.point = null;
  }

  /** @param {number} point */
  show(point) {
    if (this.point === point) return;
    this.point = point;
    this.node.replaceChildren(...this.#poster(point), this.#facts(point), ...this.#caption(point));
    this.node.hidden = false;
    this.#place(point);
  }

  /** @param {number} point */
  #poster(point) {
    const { plot } = this;
    if (!plot.files[point]?.length) return [];
    const [width, height] = plot.posters.sizeOf(point);
    return [made("span", { class: "rb-poster", style: `width:${width}px;height:${height}px` }, ...plot.posters.picture(point))];
  }

  /** @param {number} point */
  #factsOf(point) {
    return this.plot.facts.slice(0, this.plot.stack.clientWidth < NARROW ? MAX_NARROW : MAX_FACTS).filter((/** @type {any} */ fact) => fact.words[point] !== null);
  }

  /** @param {number} point */
  #facts(point) {
    const lines = this.#factsOf(point).flatMap((/** @type {any} */ fact) => [made("dt", {}, made("bdi", {}, fact.name || "row")), made("dd", {}, made("bdi", {}, fact.words[point]))]);
    return made("dl", {}, ...lines);
  }

  /** What the facts have not said. @param {number} point */
  #caption(point) {
    const facts = this.#factsOf(point);
    const parts = this.plot.captions[point].split(" · ").filter((/** @type {string} */ part) => part && !facts.some((/** @type {any} */ fact) => isSaidBy(part, fact, point)));
    return parts.length ? [made("p", {}, dotted(parts.join(" · ")))] : [];
  }

  /** Beside the point where there is room, else above or below it; never over it. @param {number} point */
  #place(point) {
    const [left, top] = this.plot.placeOf(point);
    const room = this.plot.stack.getBoundingClientRect();
    const { width, height } = this.node.getBoundingClientRect();
    const isRight = left + GAP + width <= room.width;
    const isLeft = left - GAP - width >= 0;
    const x = isRight ? left + GAP : isLeft ? left - GAP - width : Math.max(0, Math.min(room.width - width, left - width / 2));
    const isBeside = isRight || isLeft;
    const y = isBeside ? Math.max(0, Math.min(room.height - height, top - height / 2)) : top > room.height / 2 ? top - GAP - height : top + GAP;
    this.node.style.left = `${x}px`;
    this.node.style.top = `${y}px`;
  }
}
