/** Files compared to the pixel: two of them composed on one stage, or all side by side, on one clock. */

import { Camera, moveCamera } from "../media/camera.ts";
import { Clock, watchPage } from "../media/clock.ts";
import { frameAt, middleOf } from "../media/clock_time.ts";
import { buttons, keys } from "../media/controls.ts";
import { made } from "../page/element.ts";
import { answerKey } from "../page/keys.ts";
import { compareChart } from "./chart.ts";
import { type Choice, compareControls } from "./controls.ts";
import { type Drawable, drawDifference, drawOne, drawOnion, drawWipe, readPixel } from "./drawing.ts";
import { compareHandle } from "./handle.ts";
import { type Bring, CompareItem } from "./item.ts";

const HELP =
  "Space plays · ← → one frame · Shift ← → ten · Home End · L loop · [ ] range · + − zoom · 0 fit · on the enlarged picture, arrows move it · A B the next file as A or B";
const MAX_SIDE = 8192;
const MAX_FIT = 4; // A tiny picture is not blown up beyond this by itself.
const STILLS = "Small copies of the middle frames, until the files are here.";

/** The viewer of one comparison. */
export class CompareViewer {
  /** Not for screen readers, and not seen: where clips are played. */
  #room = made("div", { class: "rb-compare-room", "aria-hidden": "true" });
  items = [...this.root.querySelectorAll<HTMLElement>("[data-rb-item]")].map(
    (figure) => new CompareItem(figure, this.#room, this.bring),
  );
  /** Which of the items are A and B. */
  pair = [0, 1];
  clock = new Clock(this.items.flatMap(({ clip }) => clip ?? []));
  choice: Choice = {
    mode: "wipe",
    isDown: false,
    share: 0.5,
    opacity: 0.5,
    factor: 4,
    rate: 1,
    isFlickering: !matchMedia("(prefers-reduced-motion: reduce)").matches,
  };
  camera = new Camera(MAX_FIT);
  views = this.items.map(makeView);
  stage = made("div", { class: "rb-compare-stage" }, ...this.views.map(({ el }) => el));
  controls = compareControls(this.choice, () => this.#arrange(), this.camera);
  #handle = compareHandle(this.views[0].el, this.choice, () => this.#due());
  #words = made("p", { class: "rb-compare-words", role: "status" });
  // Not for screen readers, which would read it out at every move.
  #pixel = made("span", { class: "rb-compare-pixel", "aria-hidden": "true" });
  #names = made("div", { class: "rb-compare-names" });
  #live = made(
    "div",
    { class: "rb-compare-live" },
    this.controls.bar,
    this.stage,
    made("div", { class: "rb-compare-foot" }, this.controls.options, this.#names),
    made("div", { class: "rb-compare-line" }, this.#words, this.#pixel),
    this.#room,
  );
  #chart: { draw: (a: number, b: number) => void };
  #request = 0;
  #isHelping = false;
  /** What the stage shows, so that it is not drawn again. */
  #composed = "";
  #isInView = false;
  #isAwake = false;
  #hasB = false;
  #timer = 0;
  #forget = () => {};

  constructor(
    readonly root: HTMLElement & { compare?: CompareViewer },
    readonly bring?: Bring,
  ) {
    root.dataset.rbReady = "";
    root.compare = this;
    if (root.dataset.rbBy === "frame") this.clock.by = "frame";
    const stills = root.querySelector(".rb-compare-stills") as HTMLElement;
    stills.after(this.#live);
    stills.classList.add("rb-compare-saved");
    this.#chart = compareChart(root, this.clock);
    this.#listen();
    this.#choose(0, 1);
    this.controls.update();
  }

  #listen() {
    const { root, clock, camera } = this;
    if (clock.clips.length) buttons(root, clock);
    root.addEventListener("keydown", (event) => this.#onKey(event));
    for (const { el } of this.views) {
      moveCamera(el, camera);
      el.addEventListener("dblclick", () => camera.toFit());
      el.addEventListener("pointermove", (event) => this.#read(el, event));
      el.addEventListener("pointerleave", () => (this.#pixel.textContent = ""));
    }
    camera.addEventListener("change", () => this.#due());
    this.#room.addEventListener("reelbook:drawn", () => this.#due());
    for (const item of this.items) {
      item.addEventListener("change", () => this.#due());
      item.still?.decode().then(
        () => this.#due(),
        () => null,
      );
    }
    // In the same picture of the page as the clips; what else changes waits for the next.
    clock.addEventListener("frame", () => this.#draw());
    let by = clock.by;
    clock.addEventListener("change", () => {
      if (by !== clock.by) this.#choose(this.pair[0], this.pair[1]);
      by = clock.by;
    });
    new ResizeObserver(() => this.#measure()).observe(this.stage);
    new IntersectionObserver(([{ isIntersecting }]) => this.#see(isIntersecting)).observe(this.stage);
    this.#forget = watchPage(clock);
  }

  #see(isInView: boolean) {
    this.#isInView = isInView;
    if (!isInView && !this.root.isConnected) return this.close();
    this.#arrange();
    if (!isInView || this.#isAwake || !this.clock.clips.length) return;
    this.#isAwake = true;
    // The frame of the stills, so that nothing jumps.
    this.clock.seek(Math.floor(this.clock.frames / 2));
  }

  /** Stop, and give all memory back. */
  close() {
    clearInterval(this.#timer);
    this.#forget();
    this.clock.close();
    for (const item of this.items) item.close();
  }

  /** The differences, where they come after the viewer: below the buttons, which stay where they are. */
  addDifferences(markup: Node) {
    (this.root.querySelector(".rb-compare-transport") ?? this.#live).after(markup);
    this.#chart = compareChart(this.root, this.clock);
    this.#chart.draw(this.items[this.pair[0]].place, this.items[this.pair[1]].place);
  }

  /** The items on the stage. */
  get #seen() {
    return this.choice.mode === "side" ? this.items : this.pair.map((place) => this.items[place]);
  }

  /** The views, and which clips the clock moves. */
  #arrange() {
    const seen = this.#seen,
      isSide = this.choice.mode === "side";
    this.views.forEach(({ el }, place) => (el.hidden = isSide ? place >= seen.length : place > 0));
    this.views.forEach(
      (view, place) => (view.name.textContent = isSide ? `${this.#letter(place)}${this.items[place].label}` : ""),
    );
    this.stage.dataset.mode = this.choice.mode;
    this.#handle.el.hidden = this.choice.mode !== "wipe";
    for (const item of this.items) {
      const isWanted = this.#isInView && seen.includes(item);
      if (item.clip && item.clip.isInView !== isWanted)
        isWanted ? this.clock.join(item.clip) : this.clock.leave(item.clip);
      else if (!item.clip && isWanted && !item.isAsked) item.load();
    }
    clearInterval(this.#timer);
    if (this.choice.mode === "flicker" && this.choice.isFlickering && this.#isInView) {
      this.#timer = window.setInterval(() => {
        this.#hasB = !this.#hasB;
        this.#due();
      }, 1000 / this.choice.rate);
    }
    this.#measure();
  }

  #letter(place: number) {
    const letter = "AB"[this.pair.indexOf(place)];
    return letter ? `${letter} · ` : "";
  }

  /** Sizes of views and canvases. */
  #measure() {
    const sizes = this.#seen.map(({ size }) => size);
    const most = [0, 1].map((axis) => Math.max(...sizes.map((size) => size[axis])));
    const shrink = Math.min(1, MAX_SIDE / Math.max(...most)); // Browsers have no larger canvas.
    const box = most.map((side) => Math.round(side * shrink));
    for (const { canvas, el } of this.views) {
      // Those that are hidden give their memory back.
      const [width, height] = el.hidden ? [0, 0] : box;
      if (canvas.width !== width || canvas.height !== height) {
        [canvas.width, canvas.height] = [width, height];
        this.#composed = "";
      }
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
    this.#place();
    this.#compose();
  }

  /** Zoom and pan. */
  #place() {
    const { scale, origin } = this.camera;
    for (const { canvas } of this.views) {
      canvas.style.transform = `translate(${origin[0]}px, ${origin[1]}px) scale(${scale})`;
      // Single pixels for who enlarges; a small copy that fills its place is smooth.
      canvas.style.imageRendering = scale * devicePixelRatio > 1 && !this.camera.isFitted ? "pixelated" : "auto";
    }
    this.stage.toggleAttribute("data-zoomed", !this.camera.isFitted);
    this.#handle.place();
  }

  /** Draw what is there, if all of it is of one time; else the stage stays as it was. */
  #compose() {
    const seen = this.#seen;
    // While it plays there is no time for colours that the browser does not have.
    const isRefined = this.clock.playing || seen.map((item) => item.refine()).every(Boolean);
    const live = seen.map((item) => item.live);
    const isLive = live.every(Boolean);
    const waiting = seen.filter((_, place) => !live[place]).map((item) => item.said);
    this.#say(isLive ? "" : [...new Set(waiting)].filter(Boolean).join(" ") || STILLS);
    this.root.toggleAttribute("data-absent", !isLive && seen.some(({ isAbsent }) => isAbsent));
    const frame = isLive ? this.#frameOf(seen) : this.clock.frame;
    if (frame < 0 || !isRefined) return;
    const drawn = seen.map(({ size, still }, place) => ({
      size,
      source: isLive ? live[place] : still?.complete && still.naturalWidth ? still : null,
    }));
    if (!drawn.every(({ source }) => source)) return;
    const [a, b] = drawn as Drawable[];
    if (isLive) this.stage.dataset.frame = String(frame);
    else delete this.stage.dataset.frame; // The stills are of a frame of their own.
    const { mode, isDown, opacity, factor } = this.choice;
    if (mode === "flicker")
      this.views[0].name.textContent = this.#hasB ? `B · ${seen[1].label}` : `A · ${seen[0].label}`;
    const composed = [
      this.pair,
      isLive,
      mode,
      isDown,
      opacity,
      factor,
      this.#hasB,
      this.#edge(),
      seen.map(({ mark }) => mark),
    ].join();
    if (composed === this.#composed) return;
    this.#composed = composed;
    const context = this.views[0].context;
    const acts = {
      wipe: () => drawWipe(context, a, b, this.#edge(), this.choice.isDown),
      onion: () => drawOnion(context, a, b, this.choice.opacity),
      difference: () => drawDifference(context, a, b, this.choice.factor),
      flicker: () => drawOne(context, this.#hasB ? b : a),
      side: () => drawn.forEach((one, place) => drawOne(this.views[place].context, one as any)),
    };
    acts[this.choice.mode]();
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

  /** @param words What the files are waiting for; asked for, the keys. */
  #say(words: string) {
    const text = this.#isHelping ? HELP : words;
    if (this.#words.textContent !== text) this.#words.textContent = text;
  }

  /** What A and B have under the pointer. */
  #read(el: HTMLElement, event: PointerEvent) {
    const { left, top } = el.getBoundingClientRect();
    const { origin, scale, box } = this.camera;
    const at = [event.clientX - left, event.clientY - top].map((point, axis) =>
      Math.floor((point - origin[axis]) / scale),
    );
    const pair = this.pair.map((place) => this.items[place]);
    const isInside = at.every((part, axis) => part >= 0 && part < box[axis]);
    if (!isInside || this.clock.playing || !pair.every(({ live }) => live)) return void (this.#pixel.textContent = "");
    const values = pair.map(({ size, live }) => readPixel({ size, source: live as CanvasImageSource }, box, at));
    const words = values.map((value, side) => `${"AB"[side]} ${value ? value.join(" ") : "–"}`);
    this.#pixel.textContent = [`${at[0]}, ${at[1]}`, ...words].join(" · ");
  }

  /** The column or row of the wipe, in pixels of the pictures. */
  #edge() {
    const axis = this.choice.isDown ? 1 : 0;
    const { view, origin, scale, box } = this.camera;
    const edge = Math.round((this.choice.share * view[axis] - origin[axis]) / scale);
    return Math.min(Math.max(edge, 0), box[axis]);
  }

  /** Make these A and B. */
  #choose(a: number, b: number) {
    this.pair = [a, b];
    this.#names.replaceChildren(...[a, b].map((_, side) => this.#namer(side)));
    if (this.items.length === 2) this.#names.append(this.#swapper());
    this.#chart.draw(this.items[a].place, this.items[b].place);
    this.#arrange();
  }

  #namer(side: number): HTMLElement {
    const letter = made("b", {}, "AB"[side]);
    const item = this.items[this.pair[side]];
    if (this.items.length === 2) return made("span", { title: item.label }, letter, " ", made("bdi", {}, item.label));
    const options = this.items.map(
      ({ label }, place) => new Option(label, String(place), false, place === this.pair[side]),
    );
    const choose = () => this.#use(side, Number(select.value));
    const select = made("select", { "aria-label": `File ${"AB"[side]}`, onchange: choose }, ...options);
    return made("label", {}, letter, " ", select);
  }

  #swapper() {
    const swap = () => {
      this.#choose(this.pair[1], this.pair[0]);
      this.#names.querySelector("button")?.focus();
    };
    return made("button", { type: "button", title: "Swap A and B (A)", onclick: swap }, "Swap");
  }

  /** Take another item as A or B; the other's own item is swapped for it. */
  #use(side: number, place: number) {
    const pair = [...this.pair];
    if (pair[1 - side] === place) pair[1 - side] = pair[side];
    pair[side] = place;
    this.#choose(pair[0], pair[1]);
    this.#names.querySelectorAll("select")[side]?.focus({ preventScroll: true });
  }

  #onKey(event: KeyboardEvent) {
    const target = event.target as HTMLElement;
    if (target.matches("select, textarea, input:not([type=range])")) return;
    const next = (side: number) => {
      const place = (this.pair[side] + 1) % this.items.length;
      const isOther = this.items.length > 2 && place === this.pair[1 - side];
      this.#use(side, isOther ? (place + 1) % this.items.length : place);
      this.root.focus({ preventScroll: true });
    };
    answerKey(event, {
      ...this.camera.keys,
      a: () => next(0),
      A: () => next(0),
      b: () => next(1),
      B: () => next(1),
      "?": () => {
        this.#isHelping = !this.#isHelping;
        this.#due();
      },
    });
    if (!event.defaultPrevented && this.clock.clips.length) keys(event, this.clock);
  }
}

function makeView() {
  const canvas = made("canvas", { "aria-hidden": "true" });
  const name = made("span", { class: "rb-compare-name" });
  const el = made(
    "div",
    {
      class: "rb-compare-view",
      role: "group",
      tabindex: "0",
      "aria-label": "Picture; arrow keys move it when it is enlarged",
    },
    canvas,
    name,
  );
  return { el, canvas, name, context: canvas.getContext("2d") as CanvasRenderingContext2D };
}

for (const root of document.querySelectorAll<HTMLElement>("[data-rb-compare]:not([data-rb-ready])")) {
  if (root.querySelectorAll("[data-rb-item]").length > 1) new CompareViewer(root);
}
