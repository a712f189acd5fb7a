/**
 * Plots: a point shows its run's poster and values, plays on a click, and is selected by Shift, Ctrl, or a frame around it.
 *
 * The drawing is matplotlib's. The points are found by their positions in it, because there may be thousands, of which a
 * reader wants the nearest. The keyboard has one stop, a button that the arrows move from point to point.
 */

import { within } from "../media/clock_time.ts";
import { button, dotted, made, payloadOf, shaped } from "../page/element.ts";
import { Picked } from "../page/picked.ts";
import { detail, isFilm, players } from "../page/player.ts";
import { Posters } from "../page/row_posters.ts";
import { unpacked } from "../table/query.ts";

const NEAR = 14; // Pixels of the drawing within which a point is meant.
const NEAR_FINGER = 24;
const DRAG = 5; // Pixels after which a press is a frame.
const RING = 7;
const SMALL_RING = 3;
const MANY = 400; // Points that are drawn smaller, and so are their rings.
const GAP = 14; // Pixels between a point and its card.
const FACTS = 8;
const NARROW = 420; // Pixels of a plot of which a card leaves little.
const HINT = "A click plays; Shift+click or a frame around points selects.";
const HINT_FINGER = "A tap shows a run, a second one plays it.";

/** Left and top in the pixels of the drawing. */
type Place = [number, number];
/** What a point says of its run: the words of each point. */
type Fact = { name: string; words: (string | null)[] };

/** Whether a part of a caption is what a fact says: with its name or, as a prompt, without it, and perhaps cut. */
function isSaidBy(part: string, { name, words }: Fact, point: number) {
  const said = words[point];
  if (said === null) return false;
  return part === said || part === `${name} ${said}` || (part.endsWith("…") && said.startsWith(part.slice(0, -1)));
}

/** One plot on the page. */
class Plot {
  payload = payloadOf(this.root);
  posters = new Posters(this.root, this.payload.posters);
  #files: string[][] = this.payload.files;
  #captions: string[] = unpacked(this.payload.captions);
  #facts: Fact[] = this.payload.facts.map(({ name, words }: any) => ({ name, words: unpacked(words) }));
  /** The row of each point. */
  #rows: number[] = this.payload.rows;
  #places: Place[] = this.payload.places;
  /** The points from left to right, and from below. */
  #order = this.#rows
    .map((_, point) => point)
    .sort((a, b) => this.#places[a][0] - this.#places[b][0] || this.#places[b][1] - this.#places[a][1]);
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
    "aria-description": "Arrows go to other runs, Enter plays, Space selects.",
    onfocus: () => this.#cursor.matches(":focus-visible") && this.#goTo(this.#current),
    onblur: () => this.#hideCard(),
    // Firefox presses a button when the space bar is released.
    onkeyup: (event: KeyboardEvent) => event.key === " " && event.preventDefault(),
  });
  /** The reader's programs get the same words from the button on the point. */
  #card = made("div", { class: "rb-card", hidden: "", "aria-hidden": "true" });
  #voice = made("span", { class: "rb-hidden", role: "status" });
  #stage = made("div", { class: "rb-stage" });
  #start: Place | undefined;
  #frame: SVGRectElement | undefined;
  #pickButton: HTMLElement | undefined;

  constructor(readonly root: HTMLElement) {
    root.dataset.rbLive = "";
    if (this.payload.isReport) this.#rows.forEach((row, point) => this.#borrow(row, point));
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
    // A finger that is lifted leaves as well; what it has tapped stays.
    this.#drawing.addEventListener("pointerleave", (event) => {
      if (!this.#frame && event.pointerType !== "touch") this.#hideCard();
    });
    root.addEventListener("keydown", (event) => this.#key(event));
    this.#scroll.addEventListener("scroll", () => this.#hideCard());
    new ResizeObserver(() => this.#measure()).observe(this.#stack);
    this.#measure();
    this.#mark();
  }

  /** Take the poster that the page has already. */
  #borrow(row: number, point: number) {
    const poster = document.querySelector<HTMLImageElement>(
      `[data-rb-viewer] figure[data-row="${row}"][data-place="0"] .rb-clip img`,
    );
    if (poster) this.posters.addresses[point] = poster.src;
  }

  #clearAll() {
    this.#pick([]);
    this.#cursor.focus();
  }

  /** Put everything over the drawing where it belongs, also after its size has changed. */
  #measure() {
    this.#placeCursor();
    this.#hideCard();
  }

  /** @returns In the pixels of the page, from the left and the top of the drawings. */
  #placeOf(point: number): Place {
    const box = this.#drawing.getBoundingClientRect();
    const scale = box.width / this.#drawing.viewBox.baseVal.width;
    const [x, y] = this.#places[point];
    return [x * scale + box.left - this.#stack.getBoundingClientRect().left, y * scale];
  }

  /** @returns In the pixels of the drawing. */
  #at(event: PointerEvent): Place {
    const box = this.#drawing.getBoundingClientRect();
    const scale = this.#drawing.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }

  /** @returns The nearest point, or -1. */
  #nearest([x, y]: Place, reach: number): number {
    let nearest = -1;
    let least = reach * reach;
    this.#places.forEach(([left, top], point) => {
      const away = (left - x) ** 2 + (top - y) ** 2;
      // The later one lies above the earlier.
      if (away <= least) [nearest, least] = [point, away];
    });
    return nearest;
  }

  #hideCard() {
    this.root.removeAttribute("data-over");
    this.#card.hidden = true;
    this.#shown = null;
  }

  #showCard(point: number) {
    if (this.#shown === point) return;
    this.#shown = point;
    const most = this.#stack.clientWidth < NARROW ? FACTS - 3 : FACTS;
    const facts = this.#facts.slice(0, most).filter(({ words }) => words[point] !== null);
    const lines = facts.flatMap(({ name, words }) => [
      made("dt", {}, made("bdi", {}, name || "row")),
      made("dd", {}, made("bdi", {}, words[point])),
    ]);
    // What the facts have not said.
    const rest = this.#captions[point]
      .split(" · ")
      .filter((part) => part && !facts.some((fact) => isSaidBy(part, fact, point)));
    const [width, height] = this.posters.sizeOf(point);
    const poster = made("span", { class: "rb-poster", style: `width:${width}px;height:${height}px` });
    poster.append(...this.posters.picture(point));
    this.#card.replaceChildren(
      ...(this.#files[point]?.length ? [poster] : []),
      made("dl", {}, ...lines),
      ...(rest.length ? [made("p", {}, dotted(rest.join(" · ")))] : []),
    );
    this.#card.hidden = false;
    this.#placeCard(point);
  }

  /** Beside the point where there is room, else above or below it; never over it. */
  #placeCard(point: number) {
    const [left, top] = this.#placeOf(point);
    const room = this.#stack.getBoundingClientRect();
    const { width, height } = this.#card.getBoundingClientRect();
    const isRight = left + GAP + width <= room.width;
    const isBeside = isRight || left - GAP - width >= 0;
    const beside = isRight ? left + GAP : left - GAP - width;
    const x = isBeside ? beside : within(left - width / 2, 0, Math.max(room.width - width, 0));
    const above = top > room.height / 2 ? top - GAP - height : top + GAP;
    const y = isBeside ? within(top - height / 2, 0, Math.max(room.height - height, 0)) : above;
    this.#card.style.left = `${x}px`;
    this.#card.style.top = `${y}px`;
  }

  #move(event: PointerEvent) {
    if (this.#start) return this.#drag(event, this.#start);
    if (event.pointerType === "touch") return;
    const point = this.#nearest(this.#at(event), NEAR);
    if (point < 0) return this.#hideCard();
    this.root.toggleAttribute("data-over", true);
    this.#showCard(point);
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
    if (!this.#start) return;
    const [begin, end] = [this.#start, this.#at(event)];
    const isMore = event.shiftKey || event.ctrlKey || event.metaKey;
    const isFramed = this.#frame !== undefined;
    this.#endFrame();
    if (isFramed) {
      const inside = this.#rows.filter((_, point) =>
        this.#places[point].every((at, axis) => (at - begin[axis]) * (at - end[axis]) <= 0),
      );
      return this.#pick(isMore ? [...this.#picked.rows, ...inside] : inside);
    }
    const isFinger = event.pointerType === "touch";
    const point = this.#nearest(end, isFinger ? NEAR_FINGER : NEAR);
    const isNew = isFinger && this.#shown !== point;
    const hadCard = this.#shown !== null;
    if (isNew) this.#hideCard();
    // Beside all points a finger first puts the card away.
    if (point < 0) return isMore || (isFinger && hadCard) ? undefined : this.#pick([]);
    this.#current = point;
    this.#placeCursor();
    if (isMore) this.#toggle(point);
    else if (isNew) this.#showCard(point);
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
    const ring = (point: number, r: number, more = {}) =>
      shaped("circle", { cx: this.#places[point][0], cy: this.#places[point][1], r, ...more });
    const rings = points.map((point) => ring(point, isMany ? SMALL_RING : RING));
    if (this.#opened !== null) rings.push(ring(this.#opened, RING + 3, { class: "rb-opened" }));
    this.#drawing.appendChild(shaped("g", { class: isMany ? "rb-rings rb-many" : "rb-rings" }, ...rings));
    const hint = matchMedia("(hover: none)").matches ? HINT_FINGER : HINT;
    this.#count.textContent = rows.size ? `${rows.size.toLocaleString("en-US")} selected` : hint;
    this.#clear.hidden = !rows.size;
    this.#pickButton?.setAttribute("aria-pressed", String(this.#opened !== null && rows.has(this.#rows[this.#opened])));
    this.#nameCursor();
  }

  #placeCursor() {
    const [left, top] = this.#placeOf(this.#current);
    this.#cursor.style.left = `${left + this.#scroll.scrollLeft}px`;
    this.#cursor.style.top = `${top}px`;
    this.#nameCursor();
  }

  /** @returns A run as one line. */
  #lineOf(point: number): string {
    const caption = this.#captions[point];
    const parts = caption.split(" · ");
    const facts = this.#facts.slice(0, 4).filter((fact) => !parts.some((part) => isSaidBy(part, fact, point)));
    const words = facts.map((fact) => `${fact.name} ${fact.words[point] ?? "–"}`);
    return [...words, caption].filter(Boolean).join(" · ") || `row ${this.#rows[point]}`;
  }

  #nameCursor() {
    const isSelected = this.#picked.rows.has(this.#rows[this.#current]);
    this.#cursor.setAttribute("aria-label", `${this.#lineOf(this.#current)}${isSelected ? ", selected" : ""}`);
    this.#cursor.setAttribute("aria-expanded", String(this.#opened === this.#current));
  }

  #goTo(point: number) {
    this.#current = point;
    this.#placeCursor();
    this.#showCard(point);
  }

  /** @returns The point to which a key goes from the current one; nothing for other keys. */
  #next(key: string): number | undefined {
    const place = this.#order.indexOf(this.#current);
    if (key === "Home") return this.#order[0];
    if (key === "End") return this.#order.at(-1);
    if (key === "ArrowRight" || key === "ArrowLeft")
      return this.#order[place + (key === "ArrowRight" ? 1 : -1)] ?? this.#current;
    if (key !== "ArrowUp" && key !== "ArrowDown") return undefined;
    // Up and down: the nearest point further up, where a step to the side counts twice.
    const [x, y] = this.#places[this.#current];
    let [nearest, least] = [this.#current, Infinity];
    this.#places.forEach(([left, top], point) => {
      const along = key === "ArrowUp" ? y - top : top - y;
      const away = along + 2 * Math.abs(left - x);
      if (along > 0.5 && away < least) [nearest, least] = [point, away];
    });
    return nearest;
  }

  #key(event: KeyboardEvent) {
    event.stopPropagation();
    if (event.key === "Escape") {
      if (this.#opened !== null) return this.close();
      if (!this.#card.hidden) return this.#hideCard();
      return this.#picked.rows.size ? this.#pick([]) : undefined;
    }
    if (event.target !== this.#cursor || event.altKey || event.metaKey) return;
    const next = this.#next(event.key);
    if (event.key === " ") this.#toggle(this.#current);
    else if (next !== undefined) {
      this.#goTo(next);
      this.#voice.textContent = this.#cursor.getAttribute("aria-label");
    } else return;
    event.preventDefault();
  }

  /** Play the files of a run below the plot. */
  open(point: number) {
    this.close(false);
    this.#hideCard();
    this.#opened = point;
    const files = this.#files[point] ?? [];
    const line = this.#lineOf(point);
    const label = `${isFilm(files[0] ?? "") ? "" : "Picture, "}${this.#captions[point] || line}`;
    const open = { at: point, row: this.#rows[point], files, label };
    const node = detail(line, players(this, open), () => this.close());
    if (!files.length) node.append(made("p", {}, `${line}. It has no file.`));
    this.#pickButton = button("Select", () => this.#toggle(point), { class: "rb-pick" });
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

for (const root of document.querySelectorAll<HTMLElement>("[data-rb-plot]:not([data-rb-live])"))
  if (root.querySelector(".rb-drawing")) new Plot(root);
