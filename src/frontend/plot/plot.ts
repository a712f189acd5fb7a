/**
 * Plots: a point shows its run's poster and values, plays on a click, and is selected by Shift, Ctrl, or a frame around it.
 *
 * The drawing is matplotlib's. The points are found by their positions in it, because there may be thousands, of which a
 * reader wants the nearest. The keyboard has one stop, a button that the arrows move from point to point.
 */

import { made, shaped } from "../page/element.ts";
import { Picked } from "../page/picked.ts";
import { detail, isFilm, players } from "../page/player.ts";
import { unpacked } from "../table/query.ts";
import { Posters } from "../table/row_posters.ts";
import { type Fact, isSaidBy, PlotCard } from "./card.ts";

const NEAR = 14; // Pixels of the drawing within which a point is meant.
const NEAR_FINGER = 24;
const DRAG = 5; // Pixels after which a press is a frame.
const RING = 7,
  SMALL_RING = 3;
const MANY = 400; // Points that are drawn smaller, and so are their rings.
const HINT = "A click plays; Shift+click or a frame around points selects.";
const HINT_FINGER = "A tap shows a run, a second one plays it.";

/** Left and top in the pixels of the drawing. */
export type Place = [number, number];

/** One plot on the page. */
export class Plot {
  files: string[][] = this.payload.files;
  captions: string[] = unpacked(this.payload.captions);
  facts: Fact[] = this.payload.facts.map(({ name, words }: any) => ({ name, words: unpacked(words) }));
  posters = new Posters(this.root, this.payload.posters);
  stack = this.root.querySelector(".rb-plot-drawings") as HTMLElement;
  /** The row of each point. */
  #rows: number[] = this.payload.rows;
  #places: Place[] = this.payload.places;
  /** The points from left to right, and from below. */
  #order = this.#rows
    .map((_, point) => point)
    .sort((a, b) => this.#places[a][0] - this.#places[b][0] || this.#places[b][1] - this.#places[a][1]);
  #current = 0;
  #opened: number | null = null;
  #drawing = this.stack.querySelector(".rb-drawing") as SVGSVGElement;
  #scroll = this.#drawing.parentElement as HTMLElement;
  #picked = new Picked(this.payload, () => this.#mark());
  #count = made("span", { role: "status" });
  #clear = made(
    "button",
    { type: "button", hidden: "", "aria-label": "Clear selection", onclick: () => this.#clearAll() },
    "Clear",
  );
  #cursor = made("button", {
    type: "button",
    class: "rb-cursor",
    "aria-expanded": "false",
    "aria-description": "Arrows go to other runs, Enter plays, Space selects.",
    onclick: () => this.open(this.#current),
    onfocus: () => this.#cursor.matches(":focus-visible") && this.#goTo(this.#current),
    onblur: () => this.#card.hide(),
    // Firefox presses a button when the space bar is released.
    onkeyup: (event: KeyboardEvent) => event.key === " " && event.preventDefault(),
  });
  #card = new PlotCard(this);
  #voice = made("span", { class: "rb-hidden", role: "status" });
  #stage = made("div", { class: "rb-stage" });
  #start: Place | undefined;
  #frame: SVGRectElement | undefined;
  #pickButton: HTMLElement | undefined;

  constructor(
    readonly root: HTMLElement,
    readonly payload: any,
  ) {
    if (payload.isReport) this.#rows.forEach((row, point) => this.#borrow(row, point));
    this.stack.hidden = false;
    // Its height is reserved, so that nothing moves when something is selected.
    this.stack.after(made("div", { class: "rb-bar" }, this.#count, this.#clear));
    this.#scroll.append(this.#cursor); // It moves with the drawing.
    this.stack.append(this.#card.node, this.#voice);
    root.append(this.#stage);
    this.#listen(this.#drawing);
    root.addEventListener("keydown", (event) => this.#key(event));
    this.#scroll.addEventListener("scroll", () => this.#measure());
    new ResizeObserver(() => this.#measure()).observe(this.stack);
    this.#measure();
    this.#mark();
  }

  /** Take the poster that the page has already. */
  #borrow(row: number, point: number) {
    const poster = document
      .querySelector(`[data-rb-viewer] figure[data-row="${row}"][data-place="0"] .rb-clip img`)
      ?.getAttribute("src");
    if (poster) this.posters.addresses[point] = poster;
  }

  #clearAll() {
    this.#pick([]);
    this.#cursor.focus();
  }

  #listen(drawing: SVGSVGElement) {
    drawing.addEventListener("pointermove", (event) => this.#move(event));
    drawing.addEventListener("pointerdown", (event) => this.#press(event));
    drawing.addEventListener("pointerup", (event) => this.#release(event));
    drawing.addEventListener("pointercancel", () => this.#endFrame());
    // A finger that is lifted leaves as well; what it has tapped stays.
    drawing.addEventListener("pointerleave", (event) => this.#frame || event.pointerType === "touch" || this.#leave());
  }

  /** Put everything over the drawing where it belongs, also after its size has changed. */
  #measure() {
    this.#placeCursor();
    this.#card.hide();
  }

  /** @returns In the pixels of the page, from the left and the top of the drawings. */
  placeOf(point: number): Place {
    const box = this.#drawing.getBoundingClientRect();
    const scale = box.width / this.#drawing.viewBox.baseVal.width;
    const [x, y] = this.#places[point];
    return [x * scale + box.left - this.stack.getBoundingClientRect().left, y * scale];
  }

  /** @returns In the pixels of the drawing. */
  #at(event: PointerEvent): Place {
    const box = this.#drawing.getBoundingClientRect();
    const scale = this.#drawing.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }

  /** @returns The nearest point, or -1. */
  #nearest([x, y]: Place, reach: number): number {
    let found = -1;
    let least = reach * reach;
    this.#places.forEach(([left, top], point) => {
      const away = (left - x) ** 2 + (top - y) ** 2;
      // The later one lies above the earlier.
      if (away <= least) [found, least] = [point, away];
    });
    return found;
  }

  #move(event: PointerEvent) {
    if (this.#start) return this.#drag(event);
    if (event.pointerType === "touch") return;
    const point = this.#nearest(this.#at(event), NEAR);
    this.root.toggleAttribute("data-over", point >= 0);
    point < 0 ? this.#card.hide() : this.#card.show(point);
  }

  #leave() {
    this.root.removeAttribute("data-over");
    this.#card.hide();
  }

  #press(event: PointerEvent) {
    if (event.button) return;
    this.#start = this.#at(event);
    // A finger scrolls the page.
    if (event.pointerType !== "touch") this.#drawing.setPointerCapture(event.pointerId);
  }

  #drag(event: PointerEvent) {
    const [x, y] = this.#at(event),
      [left, top] = this.#start ?? [x, y];
    if (event.pointerType === "touch" || (!this.#frame && Math.hypot(x - left, y - top) < DRAG)) return;
    this.#card.hide();
    this.#frame ??= this.#drawing.appendChild(shaped("rect", { class: "rb-frame" })) as SVGRectElement;
    const sides = { x: Math.min(x, left), y: Math.min(y, top), width: Math.abs(x - left), height: Math.abs(y - top) };
    for (const [name, value] of Object.entries(sides)) this.#frame.setAttribute(name, String(value));
  }

  #release(event: PointerEvent) {
    if (!this.#start) return;
    const [x, y] = this.#at(event),
      [left, top] = this.#start;
    const isMore = event.shiftKey || event.ctrlKey || event.metaKey;
    if (this.#frame) {
      const [low, high] = [
        [Math.min(x, left), Math.min(y, top)],
        [Math.max(x, left), Math.max(y, top)],
      ];
      const inside = this.#rows.filter((_, point) =>
        this.#places[point].every((at, side) => at >= low[side] && at <= high[side]),
      );
      this.#endFrame();
      return this.#pick(isMore ? [...this.#picked.rows, ...inside] : inside);
    }
    this.#endFrame();
    const isFinger = event.pointerType === "touch";
    const point = this.#nearest([x, y], isFinger ? NEAR_FINGER : NEAR);
    const isNew = isFinger && this.#card.point !== point;
    const hadCard = this.#card.point !== null;
    if (isNew) this.#card.hide();
    // Beside all points a finger first puts the card away.
    if (point < 0) return isMore || (isFinger && hadCard) || this.#pick([]);
    this.#current = point;
    this.#placeCursor();
    if (isMore) this.#toggle(point);
    else if (isNew) this.#card.show(point);
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
    const points = this.#rows.flatMap((row, point) => (rows.has(row) ? [point] : []));
    this.root.toggleAttribute("data-some", points.length > 0);
    for (const shape of this.#drawing.querySelectorAll(".rb-points use"))
      shape.toggleAttribute("data-picked", rows.has(Number(shape.getAttribute("data-row"))));
    this.#drawing.querySelector(".rb-rings")?.remove();
    const isMany = this.#rows.length > MANY;
    const rings = points.map((point) => shaped("circle", this.#circle(point, isMany ? SMALL_RING : RING)));
    if (this.#opened !== null)
      rings.push(shaped("circle", { ...this.#circle(this.#opened, RING + 3), class: "rb-opened" }));
    this.#drawing.appendChild(shaped("g", { class: isMany ? "rb-rings rb-many" : "rb-rings" }, ...rings));
    this.#count.textContent = rows.size
      ? `${rows.size.toLocaleString("en-US")} selected`
      : matchMedia("(hover: none)").matches
        ? HINT_FINGER
        : HINT;
    this.#clear.hidden = !rows.size;
    this.#pickButton?.setAttribute("aria-pressed", String(this.#opened !== null && rows.has(this.#rows[this.#opened])));
    this.#nameCursor();
  }

  #circle(point: number, radius: number) {
    const [x, y] = this.#places[point];
    return { cx: String(x), cy: String(y), r: String(radius) };
  }

  #placeCursor() {
    const [left, top] = this.placeOf(this.#current);
    this.#cursor.style.left = `${left + this.#scroll.scrollLeft}px`;
    this.#cursor.style.top = `${top}px`;
    this.#nameCursor();
  }

  /** @returns A run as one line. */
  lineOf(point: number): string {
    const caption = this.captions[point];
    const parts = caption.split(" · ");
    const facts = this.facts.slice(0, 4).filter((fact) => !parts.some((part) => isSaidBy(part, fact, point)));
    const words = facts.map((fact) => `${fact.name} ${fact.words[point] ?? "–"}`);
    return [...words, caption].filter(Boolean).join(" · ") || `row ${this.#rows[point]}`;
  }

  #nameCursor() {
    const isSelected = this.#picked.rows.has(this.#rows[this.#current]);
    this.#cursor.setAttribute("aria-label", `${this.lineOf(this.#current)}${isSelected ? ", selected" : ""}`);
    this.#cursor.setAttribute("aria-expanded", String(this.#opened === this.#current));
  }

  #goTo(point: number) {
    this.#current = point;
    this.#placeCursor();
    this.#card.show(point);
  }

  /** @returns The point to which a key goes from the current one. */
  #next(key: string): number {
    const place = this.#order.indexOf(this.#current);
    if (key === "Home") return this.#order[0];
    if (key === "End") return this.#order.at(-1) ?? this.#current;
    if (key === "ArrowRight" || key === "ArrowLeft")
      return this.#order[place + (key === "ArrowRight" ? 1 : -1)] ?? this.#current;
    // Up and down: the nearest point further up, where a step to the side counts twice.
    const [x, y] = this.#places[this.#current];
    const sign = key === "ArrowUp" ? -1 : 1;
    let [found, least] = [this.#current, Infinity];
    this.#places.forEach(([left, top], point) => {
      const [along, aside] = [(top - y) * sign, Math.abs(left - x)];
      const away = along + 2 * aside;
      if (along > 0.5 && away < least) [found, least] = [point, away];
    });
    return found;
  }

  #key(event: KeyboardEvent) {
    event.stopPropagation();
    if (event.key === "Escape") {
      if (this.#opened !== null) return this.close();
      if (!this.#card.node.hidden) return this.#card.hide();
      return this.#picked.rows.size ? this.#pick([]) : undefined;
    }
    if (event.target !== this.#cursor || event.altKey || event.metaKey) return;
    if (event.key === " ") this.#toggle(this.#current);
    else if (/^(Arrow(Up|Down|Left|Right)|Home|End)$/.test(event.key)) {
      this.#goTo(this.#next(event.key));
      this.#voice.textContent = this.#cursor.getAttribute("aria-label");
    } else return;
    event.preventDefault();
  }

  /** @param point Play the files of a run below the plot. */
  open(point: number) {
    this.close(false);
    this.#card.hide();
    this.#opened = point;
    const files = this.files[point] ?? [];
    const label = `${isFilm(files[0] ?? "") ? "" : "Picture, "}${this.captions[point] || this.lineOf(point)}`;
    const node = detail(this.lineOf(point), players(this, { at: point, row: this.#rows[point], files, label }), () =>
      this.close(),
    );
    if (!files.length) node.append(made("p", {}, `${this.lineOf(point)}. It has no file.`));
    this.#pickButton = made(
      "button",
      { type: "button", class: "rb-pick", onclick: () => this.#toggle(point) },
      "Select",
    );
    node.prepend(this.#pickButton);
    this.#stage.replaceChildren(node);
    this.#mark();
    node.scrollIntoView?.({ block: "nearest" });
  }

  /** Take the player away. @param isByUser Whether the focus goes back to the point. */
  close(isByUser: boolean = true) {
    if (this.#opened === null) return;
    this.#opened = null;
    this.#pickButton = undefined;
    this.#stage.replaceChildren();
    this.#mark();
    if (isByUser) this.#cursor.focus({ preventScroll: true });
  }
}

for (const root of document.querySelectorAll<HTMLElement>("[data-rb-plot]:not([data-rb-live])")) {
  const payload = root.querySelector('script[type="application/json"]');
  if (!payload || !root.querySelector(".rb-drawing")) continue;
  root.dataset.rbLive = "";
  new Plot(root, JSON.parse(payload.textContent ?? "{}"));
}
