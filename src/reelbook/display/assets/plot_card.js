// @ts-check
/** What a point of a plot says of its run: poster, values and caption, beside the point and within the plot. */

import { dotted, made } from "./table_element.js";

const GAP = 14; // Pixels between a point and its card.
const MAX_FACTS = 8, MAX_NARROW = 5;
const NARROW = 420; // Pixels of a plot of which a card leaves little.

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
  #facts(point) {
    const found = this.plot.facts.slice(0, this.plot.stack.clientWidth < NARROW ? MAX_NARROW : MAX_FACTS).filter((/** @type {any} */ fact) => fact.words[point] !== null);
    const lines = found.flatMap((/** @type {any} */ fact) => [made("dt", {}, made("bdi", {}, fact.name || "row")), made("dd", {}, made("bdi", {}, fact.words[point]))]);
    return made("dl", {}, ...lines);
  }

  /** @param {number} point */
  #caption(point) {
    const words = this.plot.captions[point];
    return words ? [made("p", {}, dotted(words))] : [];
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
