/**
 * Plots: a point shows its run's poster and values, plays on a click, and is selected with Shift or Ctrl.
 *
 * The drawing is matplotlib's. A pointer means the nearest point of thousands. The keyboard has one stop, which the arrows
 * move from point to point.
 */

import { within } from "../media/clock_time.ts";
import { answerKey, button, made, payloadOf } from "../page/element.ts";
import { Picked } from "../page/picked.ts";
import { detail, Posters, players } from "../page/player.ts";
import { unpacked } from "../table/query.ts";

const NEAR = 14; // Pixels of the drawing within which a point is meant.
const NEAR_FINGER = 24;
const FACTS = 10;
const HINT = "A click plays; Shift+click selects.";

/** Left and top in the pixels of the drawing. */
type Place = [number, number];
/** What a point says of its run: the words of each point. */
type Fact = { name: string; words: (string | null)[] };

/** One plot on the page. */
class Plot {
  payload = payloadOf(this.root);
  posters = new Posters(this.root, this.payload.posters);
  #files: string[][] = this.payload.files;
  #facts: Fact[] = this.payload.facts.map(({ name, words }: any) => ({ name: name || "row", words: unpacked(words) }));
  /** The row of each point. */
  #rows: number[] = this.payload.rows;
  #places: Place[] = this.payload.places;
  #stack = this.root.querySelector(".rb-plot-drawings") as HTMLElement;
  #drawing = this.#stack.querySelector(".rb-drawing") as SVGSVGElement;
  #points = this.#rows.map((row) => this.#drawing.querySelector(`.rb-points use[data-row="${row}"]`) as SVGElement);
  #current = 0;
  #opened: number | null = null;
  #shown = -1; // The point of the card, if there is one.
  #picked = new Picked(this.payload, () => this.#mark());
  #count = made("span", { role: "status" });
  /** Screen readers get the same words from the point. */
  #card = made("div", { class: "rb-card", hidden: "", "aria-hidden": "true" });
  #stage = made("div", { class: "rb-stage" });
  #select = button("Select", () => this.#toggle(this.#opened ?? this.#current), { class: "rb-pick" });

  constructor(readonly root: HTMLElement) {
    root.dataset.rbLive = "";
    if (this.payload.isReport) this.#borrowPosters();
    this.#stack.hidden = false;
    this.#drawing.setAttribute("role", "group"); // A picture has no buttons inside.
    this.#points.forEach((shape, point) => {
      const name = { role: "button", tabindex: point ? -1 : 0, "aria-label": this.#lineOf(point) };
      for (const [attribute, value] of Object.entries(name)) shape.setAttribute(attribute, String(value));
    });
    // Its height is reserved, so that nothing moves when something is selected.
    this.#stack.after(made("div", { class: "rb-bar" }, this.#count));
    this.#stack.append(this.#card);
    root.append(this.#stage);
    // Not of the drawing, which would become a stop of the keyboard itself.
    this.#stack.addEventListener("focusin", ({ target }) => this.#showCard(this.#points.indexOf(target as SVGElement)));
    this.#stack.addEventListener("focusout", () => this.#showCard(-1));
    this.#drawing.addEventListener("click", (event) => this.#click(event as PointerEvent));
    this.#drawing.addEventListener("pointermove", (event) => this.#showCard(this.#nearest(event)));
    this.#drawing.addEventListener("pointerleave", () => this.#showCard(-1));
    root.addEventListener("keydown", (event) => this.#key(event));
    this.#mark();
  }

  /** Take the posters that a report has in its grid. */
  #borrowPosters() {
    this.#rows.forEach((row, point) => {
      const figure = document.querySelector(`[data-rb-viewer] figure[data-row="${row}"][data-place="0"]`);
      const poster = figure?.querySelector<HTMLImageElement>(".rb-clip img");
      if (poster) this.posters.addresses[point] = poster.src;
    });
  }

  /** @returns The point nearest to a pointer, or -1; of several, the one drawn last, which lies on top. */
  #nearest({ clientX, clientY, pointerType }: PointerEvent): number {
    const box = this.#drawing.getBoundingClientRect();
    const scale = box.width / this.#drawing.viewBox.baseVal.width;
    let [nearest, least] = [-1, pointerType === "touch" ? NEAR_FINGER : NEAR];
    this.#places.forEach(([left, top], point) => {
      const away = Math.hypot(left - (clientX - box.left) / scale, top - (clientY - box.top) / scale);
      if (away <= least) [nearest, least] = [point, away];
    });
    return nearest;
  }

  /** What is known of a run. */
  #describe(point: number) {
    return this.#facts
      .flatMap(({ name, words }) => (words[point] === null ? [] : [{ name, words: words[point] as string }]))
      .slice(0, FACTS);
  }

  /** A run as one line. */
  #lineOf(point: number): string {
    const words = this.#describe(point).map(({ name, words }) => `${name} ${words}`);
    return words.join(" · ") || `row ${this.#rows[point]}`;
  }

  #showCard(point: number) {
    if (this.#shown === point) return;
    this.#shown = point;
    this.#card.hidden = point < 0;
    if (point < 0) return;
    const term = (tag: "dt" | "dd", words: string) => made(tag, {}, made("bdi", {}, words));
    const lines = this.#describe(point).flatMap(({ name, words }) => [term("dt", name), term("dd", words)]);
    const [width, height] = this.posters.sizeOf(point);
    const style = `width:${width}px;height:${height}px`;
    const poster = made("span", { class: "rb-poster", style }, ...this.posters.picture(point));
    this.#card.replaceChildren(...(this.#files[point]?.length ? [poster] : []), made("dl", {}, ...lines));
    // On the other side of the drawing.
    this.#card.dataset.side = this.#places[point][0] > this.#drawing.viewBox.baseVal.width / 2 ? "left" : "right";
  }

  #click(event: PointerEvent) {
    const point = this.#nearest(event);
    const isMore = event.shiftKey || event.ctrlKey || event.metaKey;
    if (point < 0) return isMore ? undefined : this.#picked.set([]);
    this.#goTo(point);
    if (isMore) this.#toggle(point);
    else this.open(point);
  }

  #toggle(point: number) {
    this.#picked.toggle(this.#rows[point]);
  }

  /** Draw which points are selected, and say how many. */
  #mark() {
    const { rows } = this.#picked;
    this.root.toggleAttribute("data-some", rows.size > 0);
    this.#points.forEach((shape, point) => {
      shape.setAttribute("aria-pressed", String(rows.has(this.#rows[point])));
      shape.toggleAttribute("data-opened", point === this.#opened);
    });
    this.#count.textContent = rows.size
      ? `${rows.size.toLocaleString("en-US")} selected; a click elsewhere clears`
      : HINT;
    this.#select.setAttribute("aria-pressed", String(rows.has(this.#rows[this.#opened ?? -1])));
  }

  /** Give a point the focus: the only one that Tab reaches. */
  #goTo(point: number) {
    this.#points[this.#current].setAttribute("tabindex", "-1");
    this.#points[point].setAttribute("tabindex", "0");
    this.#current = point;
    this.#points[point].focus({ preventScroll: true });
  }

  /** Go on with the keyboard, along the points from left to right. */
  #step(by: number) {
    const places = this.#places;
    const order = [...places.keys()].sort((a, b) => places[a][0] - places[b][0] || places[b][1] - places[a][1]);
    this.#goTo(order[within(order.indexOf(this.#current) + by, 0, order.length - 1)]);
  }

  #key(event: KeyboardEvent) {
    event.stopPropagation();
    if (event.key === "Escape") {
      if (this.#opened !== null) this.close();
      else if (this.#shown >= 0) this.#showCard(-1);
      else if (this.#picked.rows.size) this.#picked.set([]);
    } else if (event.target === this.#points[this.#current])
      answerKey(event, {
        ArrowRight: () => this.#step(1),
        ArrowLeft: () => this.#step(-1),
        Home: () => this.#step(-Infinity),
        End: () => this.#step(Infinity),
        Enter: () => this.open(this.#current),
        " ": () => this.#toggle(this.#current),
      });
  }

  /** Play the files of a run below the plot. */
  open(point: number) {
    this.#showCard(-1);
    this.#opened = point;
    const files = this.#files[point] ?? [];
    const line = this.#lineOf(point);
    const entry = { at: point, row: this.#rows[point], files, label: line };
    const node = detail(line, players(this, entry), () => this.close());
    if (!files.length) node.append(made("p", {}, `${line}. It has no file.`));
    node.prepend(this.#select);
    this.#stage.replaceChildren(node);
    this.#mark();
    node.scrollIntoView?.({ block: "nearest" });
  }

  close() {
    this.#opened = null;
    this.#stage.replaceChildren();
    this.#mark();
    this.#points[this.#current].focus({ preventScroll: true });
  }
}

for (const root of document.querySelectorAll<HTMLElement>("[data-rb-plot]:not([data-rb-live])"))
  if (root.querySelector(".rb-drawing")) new Plot(root);
