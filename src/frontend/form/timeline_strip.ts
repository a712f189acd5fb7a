/** The pictures of a timeline in a row that wraps: chosen, moved and removed with the pointer, a finger or keys. */

import { made } from "../page/element.ts";
import type { PictureShelf } from "./image_shelf.ts";
import { timelineDrag, timelineDrop } from "./timeline_drag.ts";
import { type TimelineItem, type TimelineReel, timelineCount, timelineSeconds } from "./timeline_reel.ts";
import { TimelineTile } from "./timeline_tile.ts";

export type TimelineListeners = {
  id: string;
  labelledBy: string;
  describedBy: string;
  chosen: () => void;
  emptied: () => void;
  say: (words: string) => void;
};

const TIMELINE_MOTION = 120;
// Longer strips are not animated, because measuring the position of every picture takes time.
const TIMELINE_SEEN = 200;
const TIMELINE_STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 } as Record<string, number>;

export class TimelineStrip {
  reel: TimelineReel;
  shelf: PictureShelf;
  listeners: TimelineListeners;
  el: HTMLElement;
  #tiles: TimelineTile[] = [];
  /** Each picture keeps its tile wherever it goes. */
  #tileOf: WeakMap<TimelineItem, TimelineTile> = new WeakMap();
  /** What the judge has found about a picture, by its number. */
  #marks: Map<number, string> = new Map();
  #made = 0;
  /** The chosen picture that was put in view. */
  #revealed: TimelineTile | undefined;

  constructor(reel: TimelineReel, shelf: PictureShelf, listeners: TimelineListeners) {
    this.reel = reel;
    this.shelf = shelf;
    this.listeners = listeners;
    const facts = {
      role: "listbox",
      "aria-labelledby": listeners.labelledBy,
      "aria-describedby": listeners.describedBy,
      "aria-orientation": "horizontal",
    };
    this.el = made("div", { class: "rbf-tl-strip", ...facts });
    this.el.addEventListener("keydown", (event) => this.#key(event));
  }

  draw() {
    const { items, selected, rate } = this.reel;
    const before = this.#tiles;
    this.#tiles = items.map((item) => this.#tileOf.get(item) ?? this.#make(item));
    const current = new Set(this.#tiles);
    for (const tile of before) if (!current.has(tile)) tile.el.remove();
    items.forEach((item, place) => {
      const tile = this.#tiles[place];
      // Only what stands wrong is put elsewhere: an element that is taken out loses the focus.
      if (this.el.children[place] !== tile.el) this.el.insertBefore(tile.el, this.el.children[place] ?? null);
      tile.set(item.url);
      const frames = this.reel.framesOf(item);
      const seconds = timelineSeconds(frames, rate);
      tile.label(
        String(place + 1),
        frames ? `${frames.toLocaleString("en")} f${seconds ? ` · ${seconds}` : ""}` : "how long?",
      );
      tile.stretch(frames / (rate ?? 24));
      tile.choose(place === selected);
      this.#name(tile, place);
    });
    this.el.hidden = !items.length;
    if (this.#tiles[selected] !== this.#revealed) this.#reveal(this.#tiles[selected]);
  }

  /** Scrolls the strip alone, and never the page, to what was chosen. */
  #reveal(tile: TimelineTile | undefined) {
    this.#revealed = tile;
    if (!tile) return;
    const { offsetTop: top, offsetHeight: height } = tile.el;
    const { scrollTop, clientHeight } = this.el;
    if (top < scrollTop) this.el.scrollTop = top;
    else if (top + height > scrollTop + clientHeight) this.el.scrollTop = top + height - clientHeight;
  }

  focus() {
    this.#tiles[this.reel.selected]?.el.focus();
  }

  nameOf(place: number) {
    return this.#tiles[place]?.name ?? "";
  }

  problemOf(place: number) {
    return this.#tiles[place]?.problem ?? "";
  }

  /** @param found What the judge says of single pictures. */
  mark(found: Map<number, string>) {
    this.#marks = found;
    this.#tiles.forEach((tile, place) => this.#name(tile, place));
  }

  /** Show which picture is on in the preview; -1 for none. */
  play(at: number) {
    this.#tiles.forEach((tile, place) => tile.el.classList.toggle("rbf-tl-on", place === at));
  }

  /** @param to The place that the chosen picture has afterwards. */
  move(to: number) {
    const { reel } = this;
    const from = reel.selected;
    this.moving(() => reel.move(from, to));
    if (reel.selected !== from)
      this.listeners.say(`${this.nameOf(reel.selected)} is now picture ${reel.selected + 1} of ${reel.items.length}.`);
  }

  remove() {
    const name = this.nameOf(this.reel.selected);
    this.moving(() => this.reel.remove(this.reel.selected));
    this.listeners.say(`${name} is removed. ${timelineCount(this.reel.items.length, "picture")} left.`);
    if (!this.reel.items.length) this.listeners.emptied();
  }

  double() {
    this.moving(() => this.reel.double(this.reel.selected));
  }

  /** Before which picture a thing would land here. */
  drop(x: number, y: number) {
    return timelineDrop(this.#elements(), x, y);
  }

  /** Change the order or the number of pictures, and show where each one went. */
  moving(change: () => unknown) {
    const isSeen = this.#tiles.length <= TIMELINE_SEEN && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    const before = new Map(isSeen ? this.#tiles.map(({ el }) => [el, el.getBoundingClientRect()]) : []);
    const hadFocus = this.el.matches(":focus-within");
    change();
    if (hadFocus) this.focus();
    for (const [el, was] of before) {
      const is = el.getBoundingClientRect();
      const [left, top] = [was.left - is.left, was.top - is.top];
      if (el.isConnected && (left || top))
        el.animate([{ transform: `translate(${left}px, ${top}px)` }, { transform: "none" }], {
          duration: TIMELINE_MOTION,
          easing: "ease-out",
        });
    }
  }

  #elements() {
    return this.#tiles.map(({ el }) => el);
  }

  #make(item: TimelineItem) {
    const tile = new TimelineTile(this.shelf, `${this.listeners.id}-tile-${(this.#made += 1)}`, () => {
      this.#name(tile, this.#tiles.indexOf(tile));
      if (this.#tiles[this.reel.selected] === tile) this.listeners.chosen();
    });
    tile.el.addEventListener("pointerdown", (event) => this.#press(tile, event));
    this.#tileOf.set(item, tile);
    return tile;
  }

  #name(tile: TimelineTile, place: number) {
    const item = this.reel.items[place];
    if (!item) return;
    const hold = this.reel.framesOf(item) ? timelineCount(item.frames, "frame") : "no number of frames";
    const wrong = tile.problem || this.#marks.get(place) || "";
    tile.describe(
      `picture ${place + 1} of ${this.reel.items.length}, ${tile.name}, ${hold}${wrong ? `, ${wrong}` : ""}`,
      wrong || tile.name,
    );
    tile.el.classList.toggle("rbf-tl-wrong", Boolean(wrong) || !this.reel.framesOf(item));
  }

  #choose(place: number) {
    this.reel.selected = Math.min(Math.max(place, 0), this.reel.items.length - 1);
    this.draw();
    this.focus();
    this.listeners.chosen();
  }

  #key(event: KeyboardEvent) {
    const { key, altKey, ctrlKey, metaKey, shiftKey } = event;
    const { selected, items } = this.reel;
    if (!items.length || ctrlKey || metaKey || shiftKey) return;
    const sign = TIMELINE_STEPS[key];
    const end = { Home: 0, End: items.length - 1 }[key];
    if (sign && altKey) this.move(selected + sign);
    else if (sign) this.#choose(selected + sign);
    else if (end !== undefined && altKey) this.move(end);
    else if (end !== undefined) this.#choose(end);
    else if ((key === "Delete" || key === "Backspace") && !altKey) this.remove();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #press(tile: TimelineTile, event: PointerEvent) {
    if (event.button || !event.isPrimary) return;
    this.#choose(this.#tiles.indexOf(tile));
    // A finger scrolls the page, but for on the grip.
    if (event.pointerType === "touch" && event.target !== tile.grip) return;
    event.preventDefault();
    timelineDrag(
      this.el,
      tile.el,
      event,
      () => this.#elements(),
      (to) => {
        const from = this.#tiles.indexOf(tile);
        this.reel.selected = from;
        this.move(to > from ? to - 1 : to);
      },
    );
  }
}
