/** What a point of a plot says of its run: poster, values and caption, beside the point and within the plot. */

import { dotted, made } from "../page/element.ts";
import type { Plot } from "./plot.ts";

const GAP = 14; // Pixels between a point and its card.
const MAX_FACTS = 8,
  MAX_NARROW = 5;
const NARROW = 420; // Pixels of a plot of which a card leaves little.

/** What a point says of its run: the words of each point. */
export type Fact = { name: string; words: (string | null)[] };

/** Whether a part of a caption is what a fact says: with its name or, as a prompt, without it, and perhaps cut. */
export function isSaidBy(part: string, { name, words }: Fact, point: number) {
  const said = words[point];
  if (said === null) return false;
  return part === said || part === `${name} ${said}` || (part.endsWith("…") && said.startsWith(part.slice(0, -1)));
}

/** The card of one plot; the reader's programs get the same words from the button on the point. */
export class PlotCard {
  node = made("div", { class: "rb-card", hidden: "", "aria-hidden": "true" });
  point: number | null = null;

  constructor(readonly plot: Plot) {}

  hide() {
    this.node.hidden = true;
    this.point = null;
  }

  show(point: number) {
    if (this.point === point) return;
    this.point = point;
    this.node.replaceChildren(...this.#poster(point), this.#facts(point), ...this.#caption(point));
    this.node.hidden = false;
    this.#place(point);
  }

  #poster(point: number) {
    const { plot } = this;
    if (!plot.files[point]?.length) return [];
    const [width, height] = plot.posters.sizeOf(point);
    const style = `width:${width}px;height:${height}px`;
    return [made("span", { class: "rb-poster", style }, ...plot.posters.picture(point))];
  }

  #factsOf(point: number) {
    return this.plot.facts
      .slice(0, this.plot.stack.clientWidth < NARROW ? MAX_NARROW : MAX_FACTS)
      .filter((fact) => fact.words[point] !== null);
  }

  #facts(point: number) {
    const lines = this.#factsOf(point).flatMap((fact) => [
      made("dt", {}, made("bdi", {}, fact.name || "row")),
      made("dd", {}, made("bdi", {}, fact.words[point])),
    ]);
    return made("dl", {}, ...lines);
  }

  /** What the facts have not said. */
  #caption(point: number) {
    const facts = this.#factsOf(point);
    const parts = this.plot.captions[point]
      .split(" · ")
      .filter((part: string) => part && !facts.some((fact) => isSaidBy(part, fact, point)));
    return parts.length ? [made("p", {}, dotted(parts.join(" · ")))] : [];
  }

  /** Beside the point where there is room, else above or below it; never over it. */
  #place(point: number) {
    const [left, top] = this.plot.placeOf(point);
    const room = this.plot.stack.getBoundingClientRect();
    const { width, height } = this.node.getBoundingClientRect();
    const isRight = left + GAP + width <= room.width;
    const isLeft = left - GAP - width >= 0;
    const x = isRight
      ? left + GAP
      : isLeft
        ? left - GAP - width
        : Math.max(0, Math.min(room.width - width, left - width / 2));
    const isBeside = isRight || isLeft;
    const y = isBeside
      ? Math.max(0, Math.min(room.height - height, top - height / 2))
      : top > room.height / 2
        ? top - GAP - height
        : top + GAP;
    this.node.style.left = `${x}px`;
    this.node.style.top = `${y}px`;
  }
}
