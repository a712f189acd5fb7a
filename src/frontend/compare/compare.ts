/** Files compared to the pixel: two of them composed on one stage, or all side by side, on one clock. */

import { Camera, moveCamera, zoomButtons } from "../media/camera.ts";
import { Clock } from "../media/clock.ts";
import { frameAt, middleOf, within } from "../media/clock_time.ts";
import { buttons } from "../media/controls.ts";
import { isCalm } from "../media/video.ts";
import { answerKey, button, choices, choose, isWriting, made, slider, watchSight } from "../page/element.ts";
import { compareChart } from "./chart.ts";
import { type Drawable, drawDifference, drawOne, drawOnion, drawWipe } from "./drawing.ts";
import { CompareItem } from "./item.ts";

const KEYS = " · + − zoom · 0 fit · on the enlarged picture, arrows move it · A B the next file as A or B";
const MAX_FIT = 4; // A tiny picture is not blown up beyond this by itself.
const STILLS = "Small copies of the middle frames, until the files are here.";
const FLICKER = 500; // Milliseconds; more than three flashes a second are a danger to some.
const FACTORS = [1, 2, 4, 8, 16].map((factor): [number, string] => [factor, `× ${factor}`]);
const MODES = {
  wipe: "Wipe",
  onion: "Onion skin",
  difference: "Difference",
  flicker: "Flicker",
  side: "Side by side",
} as const;
type Mode = keyof typeof MODES;
const MODE_NAMES = Object.keys(MODES) as Mode[];

/** The viewer of one comparison. */
export class CompareViewer {
  /** Not for screen readers, and not seen: where clips are played. */
  #room = made("div", { class: "rb-room", "aria-hidden": "true" });
  items = [...this.root.querySelectorAll<HTMLElement>("[data-rb-item]")].map(
    (figure) => new CompareItem(figure, this.#room, () => this.#due()),
  );
  /** Which of the items are A and B. */
  pair = [0, 1];
  clock = new Clock(this.items.flatMap(({ clip }) => clip ?? []));
  camera = new Camera(MAX_FIT);
  views = this.items.map(makeView);
  stage = made("div", { class: "rb-compare-stage" }, ...this.views.map(({ el }) => el));
  #mode: Mode = "wipe";
  /** Where the wipe is in the view, 0 to 1. */
  share = 0.5;
  #isFlickering = !isCalm();
  #modes = choices("Compare by", Object.values(MODES), (place) => this.#setMode(MODE_NAMES[place]));
  #opacity = slider("Opacity of B", () => this.#due(), { value: 50 });
  #factor = choose("Amplified by", FACTORS, 4, () => this.#due());
  #flicker = button("", () => this.#turnFlicker(), { title: "Alternate A and B" });
  /** What each mode can be set to. */
  #settings: Partial<Record<Mode, HTMLElement>> = {
    onion: made("label", {}, "opacity of B ", this.#opacity),
    difference: made("label", {}, "amplified ", this.#factor),
    flicker: this.#flicker,
  };
  #words = made("p", { class: "rb-compare-words", role: "status" });
  /** Which of the files is A, and which B. */
  #names = ["A", "B"].map((letter, side) =>
    choose(
      `File ${letter}`,
      this.items.map(({ label }, place): [number, string] => [place, label]),
      side,
      (value) => this.#use(side, Number(value)),
    ),
  );
  #drawChart = compareChart(this.root, this.clock);
  #request = 0;
  #isInView = false;
  #hasB = false;
  #timer = 0;

  constructor(readonly root: HTMLElement & { compare?: CompareViewer }) {
    root.dataset.rbReady = "";
    root.compare = this;
    if (root.dataset.rbBy === "frame") this.clock.by = "frame";
    const bar = made("div", { class: "rb-compare-bar" }, this.#modes.group, zoomButtons(this.camera));
    const options = made("div", { class: "rb-compare-options" }, ...Object.values(this.#settings));
    const lists = this.#names.map((list, side) => made("label", {}, made("b", {}, "AB"[side]), " ", list));
    const names = made("div", { class: "rb-compare-names" }, ...lists);
    const foot = made("div", { class: "rb-compare-foot" }, options, names);
    const stills = root.querySelector(".rb-compare-stills") as HTMLElement;
    stills.after(made("div", { class: "rb-compare-live" }, bar, this.stage, foot, this.#words, this.#room));
    stills.classList.add("rb-compare-saved");
    this.views[0].el.append(this.#makeWipe());
    this.#listen();
    this.#choose(0, 1);
    this.#setMode("wipe");
    // The frame of the stills, so that nothing jumps when the clips are there.
    this.clock.seek(Math.floor(this.clock.frames / 2));
  }

  #listen() {
    const { root, clock, camera } = this;
    if (clock.clips.length) buttons(root, clock, KEYS);
    root.addEventListener("keydown", (event) => this.#onKey(event));
    for (const { el } of this.views) {
      moveCamera(el, camera);
      el.addEventListener("dblclick", () => camera.toFit());
    }
    camera.addEventListener("change", () => this.#due());
    this.#room.addEventListener("reelbook:drawn", () => this.#due());
    // In the same picture of the page as the clips; what else changes waits for the next.
    clock.addEventListener("frame", () => this.#draw());
    let by = clock.by;
    clock.addEventListener("change", () => {
      if (by !== clock.by) this.#choose(this.pair[0], this.pair[1]);
      by = clock.by;
    });
    new ResizeObserver(() => this.#measure()).observe(this.stage);
    watchSight(this.stage, (isInView) => {
      this.#isInView = isInView;
      this.#arrange();
    });
  }

  #setMode(mode: Mode) {
    this.#mode = mode;
    this.#modes.press(MODE_NAMES.indexOf(mode));
    for (const [name, setting] of Object.entries(this.#settings)) setting.hidden = name !== mode;
    this.#arrange();
  }

  #turnFlicker() {
    this.#isFlickering = !this.#isFlickering;
    this.#arrange();
  }

  /** The items on the stage. */
  get #seen() {
    return this.#mode === "side" ? this.items : this.pair.map((place) => this.items[place]);
  }

  /** The views, and which clips the clock moves. */
  #arrange() {
    const mode = this.#mode;
    const seen = this.#seen;
    this.views.forEach(({ el, name }, place) => {
      el.hidden = mode !== "side" && place > 0;
      const letter = "AB"[this.pair.indexOf(place)];
      name.textContent = mode === "side" ? `${letter ? `${letter} · ` : ""}${this.items[place].label}` : "";
    });
    this.stage.dataset.mode = mode;
    for (const item of this.items) item.see(this.#isInView && seen.includes(item), this.clock);
    this.#flicker.textContent = this.#isFlickering ? "Stop" : "Start";
    clearInterval(this.#timer);
    if (mode === "flicker" && this.#isFlickering && this.#isInView) {
      this.#timer = window.setInterval(() => {
        this.#hasB = !this.#hasB;
        this.#due();
      }, FLICKER);
    }
    this.#measure();
  }

  /** Sizes of views and canvases. */
  #measure() {
    const sizes = this.#seen.map(({ size }) => size);
    const box = [0, 1].map((axis) => Math.max(...sizes.map((size) => size[axis])));
    for (const { canvas, el } of this.views) {
      // Those that are hidden give their memory back.
      const [width, height] = el.hidden ? [0, 0] : box;
      if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
      el.style.aspectRatio = `${box[0]} / ${box[1]}`;
    }
    const { clientWidth, clientHeight } = this.views[0].el;
    if (clientWidth) this.camera.resize(box, [clientWidth, clientHeight]);
    this.#due();
  }

  #due() {
    this.#request ||= requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    cancelAnimationFrame(this.#request);
    this.#request = 0;
    const { scale, origin, isFitted } = this.camera;
    for (const { canvas } of this.views) {
      canvas.style.transform = `translate(${origin[0]}px, ${origin[1]}px) scale(${scale})`;
      // Single pixels for who enlarges; a small copy that fills its place is smooth.
      canvas.style.imageRendering = scale * devicePixelRatio > 1 && !isFitted ? "pixelated" : "auto";
    }
    this.stage.toggleAttribute("data-zoomed", !isFitted);
    this.#compose();
  }

  /** Draw what is there, if all of it is of one time; else the stage stays as it was. */
  #compose() {
    const seen = this.#seen;
    const live = seen.map((item) => item.live);
    const isLive = live.every(Boolean);
    const waiting = seen.filter((_, place) => !live[place]).map((item) => item.said);
    this.#words.textContent = isLive ? "" : [...new Set(waiting)].filter(Boolean).join(" ") || STILLS;
    this.root.toggleAttribute("data-absent", !isLive && seen.some(({ isAbsent }) => isAbsent));
    const frame = isLive ? this.#frameOf(seen) : this.clock.frame;
    const drawn = seen.map(({ size, still }, place) => ({
      size,
      source: isLive ? live[place] : still?.complete && still.naturalWidth ? still : null,
    }));
    if (frame < 0 || !drawn.every(({ source }) => source)) return;
    if (isLive) this.stage.dataset.frame = String(frame);
    else delete this.stage.dataset.frame; // The stills are of a frame of their own.
    const [a, b] = drawn as Drawable[];
    const [{ context, name }] = this.views;
    const mode = this.#mode;
    if (mode === "wipe") drawWipe(context, a, b, this.#edge());
    else if (mode === "onion") drawOnion(context, a, b, Number(this.#opacity.value) / 100);
    else if (mode === "difference") drawDifference(context, a, b, Number(this.#factor.value));
    else if (mode === "side") (drawn as Drawable[]).forEach((one, place) => drawOne(this.views[place].context, one));
    else {
      drawOne(context, this.#hasB ? b : a);
      name.textContent = this.#hasB ? `B · ${seen[1].label}` : `A · ${seen[0].label}`;
    }
  }

  /** The frame of the clock that all of these show; while it plays, that may be one just gone. -1 if they show different ones. */
  #frameOf(items: CompareItem[]) {
    const { clock } = this;
    const clips = items.flatMap(({ clip }) => (clip?.picture?.isDecoded ? [clip] : []));
    const times = [clock.time];
    if (clock.playing)
      times.push(
        ...clips.map((clip) => (clock.by === "frame" ? (clip.shown + 0.5) / clock.rate : middleOf(clip, clip.shown))),
      );
    const time = times.find((time) => clips.every((clip) => frameAt(clip, clock.timeFor(clip, time)) === clip.shown));
    return time === undefined ? -1 : Math.min(Math.floor(time * clock.rate + 1e-4), clock.frames - 1);
  }

  /** The column of the wipe, in pixels of the pictures. */
  #edge() {
    const { view, origin, scale, box } = this.camera;
    return within(Math.round((this.share * view[0] - origin[0]) / scale), 0, box[0]);
  }

  /** The slider of the wipe: a key moves it by a hundredth, a pointer as finely as it likes. */
  #makeWipe() {
    const move = (percent: number) => {
      this.share = percent / 100;
      this.#due();
    };
    return slider("Wipe between A and B", move, { class: "rb-compare-wipe", step: "any" });
  }

  /** Make these A and B. */
  #choose(a: number, b: number) {
    this.pair = [a, b];
    this.#names.forEach((list, side) => (list.value = String(this.pair[side])));
    this.#drawChart(this.items[a].place, this.items[b].place);
    this.#arrange();
  }

  /** Take another item as A or B; the other's own item is swapped for it. */
  #use(side: number, place: number) {
    const pair = [...this.pair];
    if (pair[1 - side] === place) pair[1 - side] = pair[side];
    pair[side] = place;
    this.#choose(pair[0], pair[1]);
  }

  #onKey(event: KeyboardEvent) {
    if (isWriting(event)) return;
    const next = (side: number) => () => this.#use(side, (this.pair[side] + 1) % this.items.length);
    answerKey(event, { ...this.camera.keys, a: next(0), b: next(1) });
  }
}

function makeView() {
  const canvas = made("canvas", { "aria-hidden": "true" });
  const name = made("span", { class: "rb-compare-name" });
  const words = "Picture; arrow keys move it when it is enlarged";
  const attributes = { class: "rb-compare-view", role: "group", tabindex: "0", "aria-label": words };
  const el = made("div", attributes, canvas, name);
  return { el, canvas, name, context: canvas.getContext("2d") as CanvasRenderingContext2D };
}

for (const root of document.querySelectorAll<HTMLElement>("[data-rb-compare]:not([data-rb-ready])")) {
  if (root.querySelectorAll("[data-rb-item]").length > 1) new CompareViewer(root);
}
