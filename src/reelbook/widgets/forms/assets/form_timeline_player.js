// @ts-check
/** Plays a timeline on the page before it is paid for: each picture for exactly as many frames as it is held. */
import { dom } from "./form_dom.js";
import { pictureName } from "./form_image_shelf.js";
import { timelineAt, timelineCount, timelineStarts } from "./form_timeline_reel.js";

/** @typedef {import("./form_image_shelf.js").PictureShelf} PictureShelf */
/** @typedef {import("./form_image_shelf.js").PicturePreview} PicturePreview */
/** @typedef {import("./form_timeline_reel.js").TimelineReel} TimelineReel */
/** @typedef {{preview: PicturePreview | null, image: HTMLImageElement | null, ready: Promise<void>}} TimelineDrawn */

// Pixels of the longer side.

const TIMELINE_STAGE = 320;
// Pixels that the stage is high on the page.
const TIMELINE_HIGH = 240;
// Pictures that are there before it plays, and are fetched while it does.
const TIMELINE_AHEAD = 48;

/** @param {TimelineReel} reel @param {PictureShelf} shelf @param {(place: number) => void} shows Hears which picture is on. */
export function timelinePlayer(reel, shelf, shows) {
  const canvas = /** @type {HTMLCanvasElement} */ (dom("canvas", { class: "rbf-tl-canvas", "aria-hidden": "true" }));
  const away = dom("span", { class: "rbf-tl-away" });
  const stage = dom("div", { class: "rbf-tl-stage" }, canvas, away);
  const play = /** @type {HTMLButtonElement} */ (dom("button", { type: "button", class: "rbf-tl-play", text: "Play" }));
  const scrub = /** @type {HTMLInputElement} */ (dom("input", { type: "range", min: "0", max: "0", step: "1", value: "0", "aria-label": "Frame" }));
  const status = dom("output", { class: "rbf-caption rbf-tl-told" });
  const el = dom("div", { class: "rbf-tl-player", role: "group", "aria-label": "Preview" }, stage, dom("div", { class: "rbf-row" }, play, scrub, status));
  /** What can be drawn, by its picture. @type {Map<any, TimelineDrawn>} */
  const drawn = new Map();
  let starts = [0];
  let rate = 24;
  let frame = 0;
  let isPlaying = false;
  /** When frame 0 would have been on, in milliseconds. */
  let began = 0;
  let request = 0;
  /** Counts starts and stops, so that what waited for a picture knows that it is out of date. */
  let turn = 0;
  let place = -1;
  el.hidden = true;

  const total = () => starts[starts.length - 1];

  const load = (/** @type {any} */ url) => {
    const known = drawn.get(url);
    if (known) return known;
    const entry = /** @type {TimelineDrawn} */ ({ preview: null, image: null, ready: Promise.resolve() });
    drawn.set(url, entry);
    if (typeof url === "string" && url) entry.ready = fetched(url, entry);
    return entry;
  };

  const fetched = async (/** @type {string} */ url, /** @type {TimelineDrawn} */ entry) => {
    const preview = (entry.preview = await shelf.preview(url));
    if (preview.url) {
      const image = new Image();
      image.src = preview.url;
      await image.decode().catch(() => null);
      entry.image = image;
    }
    if (reel.items[0]?.url === url) shape();
    if (reel.items[place]?.url === url) draw();
  };

  const ahead = () => reel.items.slice(Math.max(place, 0), place + TIMELINE_AHEAD).map((item) => load(item.url).ready);

  /** The video has the shape of its first picture. */
  const shape = () => {
    const [width, height] = drawn.get(reel.items[0]?.url)?.preview?.size ?? [16, 9];
    const scale = TIMELINE_STAGE / Math.max(width, height);
    const [across, down] = [Math.max(Math.round(width * scale), 1), Math.max(Math.round(height * scale), 1)];
    if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
    // As high as it may be, and narrower where the page is.
    stage.style.width = `${Math.round((TIMELINE_HIGH * across) / down)}px`;
    canvas.style.aspectRatio = `${across} / ${down}`;
    draw();
  };

  const draw = () => {
    const item = reel.items[place];
    const pen = canvas.getContext("2d");
    if (!item || !pen) return;
    const { preview, image } = load(item.url);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    away.textContent = image ? "" : preview?.error ? `${preview.name} cannot be shown` : preview ? `${preview.name}, which is not loaded here` : pictureName(item.url);
    away.hidden = Boolean(image);
    if (!image) return;
    const scale = Math.min(canvas.width / image.naturalWidth, canvas.height / image.naturalHeight);
    const [width, height] = [image.naturalWidth * scale, image.naturalHeight * scale];
    pen.drawImage(image, (canvas.width - width) / 2, (canvas.height - height) / 2, width, height);
  };

  const show = (/** @type {number} */ wanted) => {
    frame = Math.min(Math.max(wanted, 0), Math.max(total() - 1, 0));
    const now = total() ? timelineAt(starts, frame) : -1;
    const isOther = now !== place;
    place = now;
    scrub.value = String(frame);
    scrub.setAttribute("aria-valuetext", `frame ${frame + 1} of ${total()}, picture ${place + 1}`);
    status.textContent = `frame ${(frame + 1).toLocaleString("en")} of ${total().toLocaleString("en")} · ${(frame / rate).toFixed(2)} s`;
    el.dataset.frame = String(frame);
    el.dataset.picture = String(place);
    if (!isOther) return;
    draw();
    if (isPlaying) ahead();
    shows(place);
  };

  const tick = (/** @type {number} */ now) => {
    if (!isPlaying) return;
    // A clock that shows 41.6666 ms shows the second frame of 24, whatever its last digit.
    const due = Math.floor(((now - began) * rate) / 1000 + 1e-3);
    if (due >= total()) {
      show(total() - 1);
      return halt();
    }
    if (due > frame) show(due);
    request = requestAnimationFrame(tick);
  };

  const start = async () => {
    if (!total()) return;
    if (frame >= total() - 1) show(0);
    const mine = (turn += 1);
    isPlaying = true;
    play.textContent = "Pause";
    await Promise.all(ahead());
    if (mine !== turn) return;
    began = performance.now() - (frame * 1000) / rate;
    request = requestAnimationFrame(tick);
  };

  const halt = () => {
    isPlaying = false;
    turn += 1;
    cancelAnimationFrame(request);
    play.textContent = "Play";
  };

  const toggle = () => (isPlaying ? halt() : start());

  const seek = (/** @type {number} */ wanted) => {
    halt();
    show(wanted);
  };

  play.addEventListener("click", toggle);
  scrub.addEventListener("input", () => seek(Number(scrub.value)));
  stage.addEventListener("click", toggle);
  el.addEventListener("keydown", (event) => {
    const { key, shiftKey, altKey, ctrlKey, metaKey } = event;
    if (altKey || ctrlKey || metaKey) return;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (by) seek(frame + by * (shiftKey ? 10 : 1));
    else if (key === "Home") seek(0);
    else if (key === "End") seek(total() - 1);
    else if (key === " ") toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  // A button acts on Space when it is let go; here it has acted already.
  play.addEventListener("keyup", (event) => event.key === " " && event.preventDefault());

  return {
    el,
    halt,
    /** The pictures, their holds or the rate are other ones. */
    refresh() {
      if (el.hidden) return;
      const next = reel.rate;
      starts = timelineStarts(reel.items.map((item) => reel.framesOf(item)));
      rate = next ?? rate;
      const cannot = !next || !total();
      play.disabled = scrub.disabled = cannot;
      if (cannot) halt();
      scrub.max = String(Math.max(total() - 1, 0));
      place = -1;
      began = performance.now() - (frame * 1000) / rate;
      load(reel.items[0]?.url);
      shape();
      show(frame);
      if (cannot) status.textContent = reel.items.length ? "no length yet" : timelineCount(0, "picture");
    },
    /** @param {boolean} isOpen */
    open(isOpen) {
      el.hidden = !isOpen;
      if (!isOpen) return halt();
      frame = 0;
      this.refresh();
      if (!matchMedia("(prefers-reduced-motion: reduce)").matches) start();
    },
    /** @param {number} at Show the beginning of this picture, unless it plays. */
    follow(at) {
      if (!el.hidden && !isPlaying && place !== at) show(starts[at] ?? 0);
    },
  };
}
