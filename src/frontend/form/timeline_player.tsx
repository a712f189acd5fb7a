/** Plays a timeline on the page before it is paid for: each picture for exactly as many frames as it is held. */

import { useEffect, useRef } from "preact/hooks";
import { Clock, watchPage } from "../media/clock.ts";
import { frameAt } from "../media/clock_time.ts";
import { buttons, keys } from "../media/controls.ts";
import { nameOf, type Pictures, type Preview } from "./pictures.ts";
import { framesOf, type Item } from "./timeline.tsx";

// Pixels of the longer side of what is drawn, and of the height on the page.
const STAGE = 320;
const HEIGHT = 240;
// Pictures that are there before it plays, and are fetched while it does.
const AHEAD = 48;

interface PlayerProps {
  items: Item[];
  rate: number | null;
  pictures: Pictures;
  chosen: number;
  /** Hears which picture is on. */
  shows: (place: number) => void;
}

export function TimelinePlayer({ items, rate, pictures, chosen, shows }: PlayerProps) {
  const root = useRef<HTMLDivElement>(null);
  const player = useRef<ReturnType<typeof makePlayer> | null>(null);
  useEffect(() => {
    player.current = makePlayer(root.current as HTMLElement, pictures, shows);
    player.current.refresh(items, rate);
    player.current.begin();
    return () => player.current?.close();
  }, []);
  useEffect(() => player.current?.refresh(items, rate), [rate, JSON.stringify(items)]);
  const followed = useRef(chosen);
  useEffect(() => {
    if (followed.current !== chosen) player.current?.follow(chosen);
    followed.current = chosen;
  }, [chosen]);
  return (
    <div class="rb-clock rbf-tl-player" role="group" aria-label="Preview" ref={root}>
      <div class="rbf-tl-stage">
        <canvas class="rbf-tl-canvas" aria-hidden="true" />
        <span class="rbf-tl-away" />
      </div>
      <div data-rb-transport="" />
    </div>
  );
}

interface Drawn {
  preview?: Preview;
  image?: HTMLImageElement | null;
  ready: Promise<void>;
}

function makePlayer(el: HTMLElement, pictures: Pictures, shows: (place: number) => void) {
  const [stage, canvas, away] = [".rbf-tl-stage", "canvas", ".rbf-tl-away"].map((part) => el.querySelector(part)) as [
    HTMLElement,
    HTMLCanvasElement,
    HTMLElement,
  ];
  /** What can be drawn, by its picture. */
  const drawn: Map<any, Drawn> = new Map();
  let items: Item[] = [];
  let starts = [0];
  let place = -1;

  const load = (url: any): Drawn => {
    const known = drawn.get(url);
    if (known) return known;
    const entry: Drawn = { ready: Promise.resolve() };
    drawn.set(url, entry);
    if (typeof url === "string" && url) entry.ready = fetchInto(entry, url);
    return entry;
  };
  const fetchInto = async (entry: Drawn, url: string) => {
    entry.preview = await pictures.preview(url);
    if (entry.preview.url) {
      const image = new Image();
      image.src = entry.preview.url;
      await image.decode().catch(() => null);
      entry.image = image;
    }
    if (items[0]?.url === url) shape();
    if (items[place]?.url === url) draw();
  };
  const ahead = () => items.slice(Math.max(place, 0), place + AHEAD).map((item) => load(item.url).ready);

  /** The video has the shape of its first picture. */
  const shape = () => {
    const [width, height] = drawn.get(items[0]?.url)?.preview?.size ?? [16, 9];
    const scale = STAGE / Math.max(width, height);
    const [across, down] = [Math.max(Math.round(width * scale), 1), Math.max(Math.round(height * scale), 1)];
    if (canvas.width !== across || canvas.height !== down) [canvas.width, canvas.height] = [across, down];
    // As high as it may be, and narrower where the page is.
    stage.style.width = `${Math.round((HEIGHT * across) / down)}px`;
    canvas.style.aspectRatio = `${across} / ${down}`;
    draw();
  };
  const draw = () => {
    const item = items[place];
    const pen = canvas.getContext("2d");
    if (!item || !pen) return;
    const { preview, image } = load(item.url);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    away.hidden = !!image;
    away.textContent = image ? "" : nameOf(item.url);
    if (preview && !image)
      away.textContent = preview.error
        ? `${preview.name} cannot be shown`
        : `${preview.name}, which is not loaded here`;
    if (!image) return;
    const scale = Math.min(canvas.width / image.naturalWidth, canvas.height / image.naturalHeight);
    const [width, height] = [image.naturalWidth * scale, image.naturalHeight * scale];
    pen.drawImage(image, (canvas.width - width) / 2, (canvas.height - height) / 2, width, height);
  };
  const placeAt = (frame: number) => starts.findLastIndex((start, at) => start <= frame && at < items.length);
  const show = (time: number) => {
    const frame = frameAt(clip, time);
    const now = placeAt(frame);
    el.dataset.frame = String(frame);
    el.dataset.picture = String(now);
    if (now === place) return;
    place = now;
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
  const name = () => {
    const words = `${scrub.getAttribute("aria-valuetext")}, picture ${placeAt(clock.frame) + 1}`;
    scrub.setAttribute("aria-valuetext", words);
  };
  for (const event of ["frame", "change"]) clock.addEventListener(event, name);
  const forget = watchPage(clock);
  const isReady = () => note.hidden;
  stage.addEventListener("click", () => isReady() && clock.toggle());
  el.addEventListener("keydown", (event) => isReady() && keys(event, clock));

  return {
    begin() {
      if (isReady() && !matchMedia("(prefers-reduced-motion: reduce)").matches) clock.play();
    },
    close() {
      forget();
      clock.close();
    },
    /** The pictures, their holds or the rate are other ones. */
    refresh(now: Item[], rate: number | null) {
      const { frame, playing } = clock;
      items = now;
      starts = [0];
      for (const item of items) starts.push(starts[starts.length - 1] + framesOf(item));
      const total = starts[starts.length - 1];
      clip.frames = Math.max(total, 1);
      clip.rate = rate ?? clip.rate;
      clip.seconds = clip.frames / clip.rate;
      note.hidden = Boolean(rate && total);
      note.textContent = note.hidden ? "" : "no length yet";
      for (const act of acts) act.disabled = !note.hidden;
      place = -1;
      clock.measure();
      load(items[0]?.url);
      shape();
      if (!playing || !note.hidden) clock.seek(frame);
    },
    /** Show the beginning of this picture, unless it plays. */
    follow(at: number) {
      if (!clock.playing && place !== at) clock.seek(starts[at] ?? 0);
    },
  };
}
