/** Plays a timeline on the page before it is paid for: each picture for exactly as many frames as it is held. */
import { Clock, watchPage } from "../media/clock.ts";
import { frameAt } from "../media/clock_time.ts";
import { buttons, keys } from "../media/controls.ts";
import { made } from "../page/element.ts";
import { type PicturePreview, type PictureShelf, pictureName } from "./image_shelf.ts";
import { type TimelineReel, timelineAt, timelineStarts } from "./timeline_reel.ts";

export type TimelineDrawn = { preview: PicturePreview | null; image: HTMLImageElement | null; ready: Promise<void> };

// Pixels of the longer side.
const TIMELINE_STAGE = 320;
// Pixels that the stage is high on the page.
const TIMELINE_HIGH = 240;
// Pictures that are there before it plays, and are fetched while it does.
const TIMELINE_AHEAD = 48;

/** @param shows Hears which picture is on. */
export function timelinePlayer(reel: TimelineReel, shelf: PictureShelf, shows: (place: number) => void) {
  const canvas = made("canvas", { class: "rbf-tl-canvas", "aria-hidden": "true" });
  const away = made("span", { class: "rbf-tl-away" });
  const stage = made("div", { class: "rbf-tl-stage" }, canvas, away);
  const el = made(
    "div",
    { class: "rb-clock rbf-tl-player", role: "group", "aria-label": "Preview" },
    stage,
    made("div", { "data-rb-transport": "" }),
  );
  /** What can be drawn, by its picture. */
  const drawn: Map<any, TimelineDrawn> = new Map();
  let starts = [0];
  let place = -1;
  el.hidden = true;

  const load = (url: any) => {
    const known = drawn.get(url);
    if (known) return known;
    const entry = { preview: null, image: null, ready: Promise.resolve() } as TimelineDrawn;
    drawn.set(url, entry);
    if (typeof url === "string" && url) entry.ready = fetched(url, entry);
    return entry;
  };

  const fetched = async (url: string, entry: TimelineDrawn) => {
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
    away.textContent = image
      ? ""
      : preview?.error
        ? `${preview.name} cannot be shown`
        : preview
          ? `${preview.name}, which is not loaded here`
          : pictureName(item.url);
    away.hidden = Boolean(image);
    if (!image) return;
    const scale = Math.min(canvas.width / image.naturalWidth, canvas.height / image.naturalHeight);
    const [width, height] = [image.naturalWidth * scale, image.naturalHeight * scale];
    pen.drawImage(image, (canvas.width - width) / 2, (canvas.height - height) / 2, width, height);
  };

  const show = (time: number) => {
    if (el.hidden) return;
    const frame = frameAt(clip, time);
    const now = reel.items.length ? timelineAt(starts, frame) : -1;
    const isOther = now !== place;
    place = now;
    el.dataset.frame = String(frame);
    el.dataset.picture = String(place);
    if (!isOther) return;
    draw();
    if (clock.playing) ahead();
    shows(place);
  };

  /** What the clock moves: all pictures as one clip. */
  const clip = {
    box: el,
    picture: null,
    isInView: true,
    isBroken: false,
    frames: 1,
    rate: 24,
    seconds: 1 / 24,
    async show(time: number) {
      show(time);
      if (clock.playing) await Promise.all(ahead());
    },
    follow: show,
    rest() {},
    unload() {},
  };
  const clock = new Clock([clip as any]);
  clock.loop = false;
  buttons(el, clock);
  const acts = el.querySelectorAll<HTMLButtonElement>("button, input, select");
  const scrub = el.querySelector("input") as HTMLInputElement;
  const note = el.querySelector("[role=status]") as HTMLElement;
  // After the words of the buttons, so that it adds to them.
  const name = () =>
    scrub.setAttribute(
      "aria-valuetext",
      `${scrub.getAttribute("aria-valuetext")}, picture ${timelineAt(starts, clock.frame) + 1}`,
    );
  for (const event of ["frame", "change"]) clock.addEventListener(event, name);
  const forget = watchPage(clock);
  const isReady = () => note.hidden;
  stage.addEventListener("click", () => isReady() && clock.toggle());
  el.addEventListener("keydown", (event) => isReady() && keys(event, clock));

  return {
    el,
    close() {
      forget();
      clock.close();
    },
    /** The pictures, their holds or the rate are other ones. */
    refresh() {
      if (el.hidden) return;
      const { frame, playing } = clock;
      starts = timelineStarts(reel.items.map((item) => reel.framesOf(item)));
      const total = starts[starts.length - 1];
      clip.frames = Math.max(total, 1);
      clip.rate = reel.rate ?? clip.rate;
      clip.seconds = clip.frames / clip.rate;
      note.hidden = Boolean(reel.rate && total);
      note.textContent = note.hidden ? "" : "no length yet";
      for (const act of acts) act.disabled = !note.hidden;
      place = -1;
      clock.measure();
      load(reel.items[0]?.url);
      shape();
      if (!playing || !note.hidden) clock.seek(frame);
    },
    open(isOpen: boolean) {
      clock.seek(0);
      el.hidden = !isOpen;
      if (!isOpen) return;
      this.refresh();
      if (isReady() && !matchMedia("(prefers-reduced-motion: reduce)").matches) clock.play();
    },
    /** @param at Show the beginning of this picture, unless it plays. */
    follow(at: number) {
      if (!el.hidden && !clock.playing && place !== at) clock.seek(starts[at] ?? 0);
    },
  };
}
