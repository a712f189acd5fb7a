/**
 * Plots: a point shows its run's poster and values, plays on a click, and is selected by Shift, Ctrl, or a frame around it.
 *
 * The drawing is matplotlib's. The points are found by their positions in it, because there may be thousands, of which a
 * reader wants the nearest. The keyboard has one stop, a button that the arrows move from point to point.
 */

import { within } from "../media/clock_time.ts";
import { answerKey, button, made, payloadOf, shaped } from "../page/element.ts";
import { Picked } from "../page/picked.ts";
import { detail, Posters, players } from "../page/player.ts";
import { unpacked } from "../table/query.ts";

const NEAR = 14; // Pixels of the drawing within which a point is meant.
const NEAR_FINGER = 24;
const DRAG = 5; // Pixels after which a press is a frame.
const RING = 10;
const GAP = 14; // Pixels between a point and its card.
const FACTS = 10;
const HINT = "A click plays; Shift+click or a frame around points selects.";

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
  #scroll = this.#drawing.parentElement as HTMLElement;
  #current = 0;
  #opened: number | null = null;
  #shown: number | null = null; // The point of the card.
  #picked = new Picked(this.payload, () => this.#mark());
  #count = made("span", { role: "status" });
  #clear = button("Clear", () => this.#clearAll(), { hidden: "", "aria-label": "Clear selection" });
  #cursor = button("", () => this.open(this.#current), {
    class: "rb-cursor",
    "aria-expanded": "false",
    "aria-description": "← → go to other runs, Enter plays, Space selects.",
    onfocus: () => this.#cursor.matches(":focus-visible") && this.#goTo(this.#current),
    onblur: () => this.#hideCard(),
    // Firefox presses a button when the space bar is released.
    onkeyup: (event: KeyboardEvent) => event.key === " " && event.preventDefault(),
  });
  /** Screen readers get the same words from the button on the point. */
  #card = made("div", { class: "rb-card", hidden: "", "aria-hidden": "true" });
  #voice = made("span", { class: "rb-hidden", role: "status" });
  #stage = made("div", { class: "rb-stage" });
  #select = button("Select", () => this.#toggle(this.#opened ?? this.#current), { class: "rb-pick" });
  #start: Place | undefined;
  #frame: SVGRectElement | undefined;
  /** Around the point whose run is open. */
  #ring: SVGElement = shaped("circle", {});

  constructor(readonly root: HTMLElement) {
    root.dataset.rbLive = "";
    if (this.payload.isReport) this.#borrowPosters();
    this.#stack.hidden = false;
    // Its height is reserved, so that nothing moves when something is selected.
    this.#stack.after(made("div", { class: "rb-bar" }, this.#count, this.#clear));
    this.#scroll.append(this.#cursor); // It moves with the drawing.
    this.#stack.append(this.#card, this.#voice);
    root.append(this.#stage);
    this.#drawing.addEventListener("pointermove", (event) => this.#move(event));
    this.#drawing.addEventListener("pointerdown", (event) => this.#press(event));
    this.#drawing.addEventListener("pointerup", (event) => this.#release(event));
    this.#drawing.addEventListener("pointercancel", () => this.#endFrame());
    this.#drawing.addEventListener("pointerleave", () => this.#hideCard());
    root.addEventListener("keydown", (event) => this.#key(event));
    this.#scroll.addEventListener("scroll", () => this.#hideCard());
    new ResizeObserver(() => this.#goTo(this.#current, false)).observe(this.#stack);
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

  #clearAll() {
    this.#pick([]);
    this.#cursor.focus();
  }

  /** How many pixels of the page one of the drawing is, and how far from the left edge the drawing begins. */
  #view() {
    const box = this.#drawing.getBoundingClientRect();
    const scale = box.width / this.#drawing.viewBox.baseVal.width;
    return { box, scale, left: box.left - this.#stack.getBoundingClientRect().left };
  }

  /** Where a pointer is, in the pixels of the drawing. */
  #at(event: PointerEvent): Place {
    const { box, scale } = this.#view();
    return [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
  }

  /** @returns The nearest point, or -1; of several, the one drawn last, which lies on top. */
  #nearest([x, y]: Place, reach: number): number {
    let [nearest, least] = [-1, reach];
    this.#places.forEach(([left, top], point) => {
      const away = Math.hypot(left - x, top - y);
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

  #hideCard() {
    this.#card.hidden = true;
    this.#shown = null;
  }

  #showCard(point: number) {
    if (this.#shown === point) return;
    this.#shown = point;
    const term = (tag: "dt" | "dd", words: string) => made(tag, {}, made("bdi", {}, words));
    const lines = this.#describe(point).flatMap(({ name, words }) => [term("dt", name), term("dd", words)]);
    const [width, height] = this.posters.sizeOf(point);
    const style = `width:${width}px;height:${height}px`;
    const poster = made("span", { class: "rb-poster", style }, ...this.posters.picture(point));
    this.#card.replaceChildren(...(this.#files[point]?.length ? [poster] : []), made("dl", {}, ...lines));
    this.#card.hidden = false;
    this.#placeCard(point);
  }

  /** Beside the point, on the side that has more room. */
  #placeCard(point: number) {
    const { scale, left: begin } = this.#view();
    const [left, top] = [begin + this.#places[point][0] * scale, this.#places[point][1] * scale];
    const { clientWidth, clientHeight } = this.#stack;
    const { style } = this.#card;
    const isLeft = left > clientWidth / 2;
    style.left = isLeft ? "" : `${left + GAP}px`;
    style.right = isLeft ? `${clientWidth - left + GAP}px` : "";
    style.maxWidth = `min(280px, ${(isLeft ? left : clientWidth - left) - GAP}px)`;
    const height = this.#card.offsetHeight;
    style.top = `${within(top - height / 2, 0, Math.max(clientHeight - height, 0))}px`;
  }

  #move(event: PointerEvent) {
    if (this.#start) return this.#drag(event, this.#start);
    if (event.pointerType === "touch") return;
    const point = this.#nearest(this.#at(event), NEAR);
    if (point < 0) this.#hideCard();
    else this.#showCard(point);
  }

  #press(event: PointerEvent) {
    if (event.button) return;
    this.#start = this.#at(event);
    // A finger scrolls the page.
    if (event.pointerType !== "touch") this.#drawing.setPointerCapture(event.pointerId);
  }

  #drag(event: PointerEvent, [left, top]: Place) {
    const [x, y] = this.#at(event);
    if (event.pointerType === "touch" || (!this.#frame && Math.hypot(x - left, y - top) < DRAG)) return;
    this.#hideCard();
    this.#frame ??= this.#drawing.appendChild(shaped("rect", { class: "rb-frame" })) as SVGRectElement;
    const sides = { x: Math.min(x, left), y: Math.min(y, top), width: Math.abs(x - left), height: Math.abs(y - top) };
    for (const [name, value] of Object.entries(sides)) this.#frame.setAttribute(name, String(value));
  }

  #release(event: PointerEvent) {
    const [begin, isFramed] = [this.#start, this.#frame !== undefined];
    this.#endFrame();
    if (!begin) return;
    const end = this.#at(event);
    const isMore = event.shiftKey || event.ctrlKey || event.metaKey;
    if (isFramed) {
      const inside = this.#rows.filter((_, point) =>
        this.#places[point].every((at, axis) => (at - begin[axis]) * (at - end[axis]) <= 0),
      );
      return this.#pick(isMore ? [...this.#picked.rows, ...inside] : inside);
    }
    const point = this.#nearest(end, event.pointerType === "touch" ? NEAR_FINGER : NEAR);
    if (point < 0) return isMore ? undefined : this.#pick([]);
    this.#goTo(point, false);
    if (isMore) this.#toggle(point);
    else this.open(point);
  }

  #endFrame() {
    this.#frame?.remove();
    this.#frame = this.#start = undefined;
  }

  #pick(rows: Iterable<number>) {
    this.#picked.set(rows);
    this.#mark();
  }

  #toggle(point: number) {
    this.#picked.toggle(this.#rows[point]);
    this.#mark();
  }

  /** Draw which points are selected, and say how many. */
  #mark() {
    const { rows } = this.#picked;
    this.root.toggleAttribute("data-some", rows.size > 0);
    for (const shape of this.#drawing.querySelectorAll(".rb-points use"))
      shape.toggleAttribute("data-picked", rows.has(Number(shape.getAttribute("data-row"))));
    this.#ring.remove();
    const [cx, cy] = this.#places[this.#opened ?? -1] ?? [];
    if (this.#opened !== null)
      this.#ring = this.#drawing.appendChild(shaped("circle", { cx, cy, r: RING, class: "rb-opened" }));
    this.#count.textContent = rows.size ? `${rows.size.toLocaleString("en-US")} selected` : HINT;
    this.#clear.hidden = !rows.size;
    this.#select.setAttribute("aria-pressed", String(rows.has(this.#rows[this.#opened ?? -1])));
    this.#nameCursor();
  }

  #nameCursor() {
    const isSelected = this.#picked.rows.has(this.#rows[this.#current]);
    this.#cursor.setAttribute("aria-label", `${this.#lineOf(this.#current)}${isSelected ? ", selected" : ""}`);
    this.#cursor.setAttribute("aria-expanded", String(this.#opened === this.#current));
  }

  /** Put the cursor on a point, also after the size of the drawing has changed. */
  #goTo(point: number, hasCard = true) {
    this.#current = point;
    const { scale, left } = this.#view();
    const [x, y] = this.#places[point];
    this.#cursor.style.left = `${left + x * scale + this.#scroll.scrollLeft}px`;
    this.#cursor.style.top = `${y * scale}px`;
    this.#nameCursor();
    this.#hideCard();
    if (hasCard) this.#showCard(point);
  }

  /** Go on with the keyboard, along the points from left to right. */
  #step(by: number) {
    const places = this.#places;
    const order = [...places.keys()].sort((a, b) => places[a][0] - places[b][0] || places[b][1] - places[a][1]);
    this.#goTo(order[within(order.indexOf(this.#current) + by, 0, order.length - 1)]);
    this.#voice.textContent = this.#cursor.getAttribute("aria-label");
  }

  #key(event: KeyboardEvent) {
    event.stopPropagation();
    if (event.key === "Escape") {
      if (this.#opened !== null) this.close();
      else if (this.#shown !== null) this.#hideCard();
      else if (this.#picked.rows.size) this.#pick([]);
    } else if (event.target === this.#cursor)
      answerKey(event, {
        ArrowRight: () => this.#step(1),
        ArrowLeft: () => this.#step(-1),
        Home: () => this.#step(-Infinity),
        End: () => this.#step(Infinity),
        " ": () => this.#toggle(this.#current),
      });
  }

  /** Play the files of a run below the plot. */
  open(point: number) {
    this.#hideCard();
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
    this.#cursor.focus({ preventScroll: true });
  }
}

for (const root of document.querySelectorAll<HTMLElement>("[data-rb-plot]:not([data-rb-live])"))
  if (root.querySelector(".rb-drawing")) new Plot(root);
