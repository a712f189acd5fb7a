/** The viewer of one clip or picture: large, with a filmstrip, and with buttons that save frames and ranges. */

import { Camera, moveCamera, PAN } from "../media/camera.ts";
import { Clip, makeClipBox, type Source } from "../media/clip.ts";
import { Clock, watchPage, watchView } from "../media/clock.ts";
import { buttons, keys } from "../media/controls.ts";
import { canDecode } from "../media/frames.ts";
import { made } from "../page/element.ts";
import { ASK_AGAIN, askKernel, bringFile, onKernel } from "../page/kernel_files.ts";
import { answerKey } from "../page/keys.ts";
import { actionBar } from "./actions.ts";
import { Filmstrip } from "./strip.ts";

const CLOSE_AFTER = 30_000; // Milliseconds off the page.
const CRISP_FROM = 2; // Pixels of the page for one of the picture.
const REPORT_AFTER = 120; // Milliseconds of rest before the kernel hears which frame is on the screen.
const EXPLORER_KEYS =
  "Space play, pause · ← → one frame · Shift ← → ten · Home first · End last · L loop · [ ] begin and end of the range · + − zoom · 0 fit · ? these keys";
const SMALL_COPY =
  "A small copy, because the file is too large for the page, or of a kind that browsers do not decode. What is saved comes from the file itself.";

export type ExplorerFile = Source & { blob?: Blob };

/** Becomes a viewer when it is seen and a kernel is there; when it has long been off the page, its memory is given back. */
function explorer(root: HTMLElement) {
  const key = root.dataset.key ?? "";
  const still = [...root.childNodes].map((node) => node.cloneNode(true));
  let isOpen = false;
  let timer = 0;
  let listening: AbortController | null = null;
  const open = async () => {
    clearTimeout(timer);
    if (isOpen || !key) return;
    isOpen = true;
    const note = root.querySelector("[data-rb-note]") as HTMLElement;
    const say = (words: string) => note.firstElementChild?.replaceChildren(words);
    const file = await bringExplored(root, () => say("Loading, waiting for the kernel."));
    isOpen = Boolean(file.url);
    if (!isOpen) return file.words && file.words !== ASK_AGAIN && say(file.words);
    note.hidden = true;
    listening = new AbortController();
    if (root.dataset.rbExplorer === "clip") exploreClip(root, file, listening.signal);
    else explorePicture(root, String(file.url), listening.signal);
  };
  const close = () => {
    listening?.abort();
    root.replaceChildren(...still.map((node) => node.cloneNode(true)));
    isOpen = false;
  };
  onKernel(key, open);
  new IntersectionObserver((entries) => {
    if (entries.some(({ isIntersecting }) => isIntersecting)) return void open();
    // A notebook takes cells that are far away off the page, and brings the same back.
    clearTimeout(timer);
    if (isOpen && !root.isConnected) timer = window.setTimeout(() => root.isConnected || close(), CLOSE_AFTER);
  }).observe(root);
}

/** The file, or a small copy of a clip that is too large, or that this browser cannot decode. */
async function bringExplored(root: HTMLElement, wait: () => void): Promise<ExplorerFile & { isCopy?: boolean }> {
  const wanted = { key: root.dataset.key ?? "", row: 0 };
  const file = await bringFile(wanted, wait);
  const isEnough = root.dataset.rbExplorer !== "clip" || (file.url && (file.index || !canDecode()));
  if (isEnough || file.words === ASK_AGAIN) return file;
  const copy = await bringFile({ ...wanted, copy: "preview" }, wait);
  return copy.index || (copy.url && !file.url) ? { ...copy, isCopy: true } : file;
}

function exploreClip(root: HTMLElement, file: ExplorerFile & { isCopy?: boolean }, signal: AbortSignal) {
  const key = root.dataset.key ?? "";
  const { width, height, frames, rate } = root.dataset as Record<string, string>;
  const stills = root.querySelector("[data-rb-stills]") as HTMLElement;
  const images = [...stills.querySelectorAll("img")];
  const box = makeClipBox({ frames, rate }, { class: "rb-stage", style: stageSize(Number(width), Number(height)) });
  box.prepend(images[0].cloneNode());
  const clip = new Clip(box, () => Promise.resolve(file));
  const clock = new Clock([clip]);
  const rooted = root as HTMLElement & { clock?: Clock };
  rooted.clock = clock;
  root.dataset.rbClock = "";
  root.classList.add("rb-clock");
  stills.hidden = true;
  stills.before(box);

  buttons(root, clock);
  const strip = new Filmstrip(root.querySelector(".rb-line") as HTMLElement, clock, clip, file, images);
  const camera = cameraOf(box, [Number(width), Number(height)], () => clock.toggle());
  const place = () => ({ frame: clock.frame, range: clock.range });
  const bar = actionBar(root, {
    key,
    camera,
    clip,
    clock,
    place,
    isCopy: Boolean(file.isCopy),
    name: root.dataset.save ?? "frame.mp4",
  });
  if (file.isCopy) bar.say(SMALL_COPY);

  const [first, last] = (root.dataset.range || "").split(" ").map(Number);
  clock.range = last ? [first, last] : null;
  clock.seek(Number(root.dataset.at));
  let timer = 0;
  let before = JSON.stringify(place());
  const report = () => {
    clearTimeout(timer);
    if (clock.playing) return;
    timer = window.setTimeout(() => {
      const now = JSON.stringify(place());
      if (now !== before) askKernel(key, { do: "place", ...place() });
      before = now;
      root.dataset.at = String(clock.frame);
      root.dataset.range = clock.range?.join(" ") ?? "";
    }, REPORT_AFTER);
  };
  clock.addEventListener("change", report);
  const forget = onKernel(
    key,
    ({ told }) => {
      clock.range = told.range;
      clock.seek(told.frame);
    },
    "told",
  );
  root.addEventListener("keydown", (event) => viewerKeys(event, camera, bar.say), { signal });
  root.addEventListener("keydown", (event) => keys(event, clock), { signal });
  root.setAttribute("aria-keyshortcuts", "Space ArrowLeft ArrowRight Home End L [ ] + - 0 ?");
  const view = watchView(clock);
  const leavePage = watchPage(clock);
  askKernel(key, { do: "strip" }).then((found) => strip.improve(found));
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    forget();
    view.stop();
    leavePage();
    strip.close();
    clock.close();
  });
}

function explorePicture(root: HTMLElement, url: string, signal: AbortSignal) {
  const { width, height } = root.dataset as Record<string, string>;
  const stills = root.querySelector("[data-rb-stills]") as HTMLElement;
  const poster = stills.querySelector("img") as HTMLImageElement;
  const box = made("div", { class: "rb-clip rb-stage", style: stageSize(Number(width), Number(height)) });
  box.append(made("img", { src: url, alt: poster.alt }));
  stills.hidden = true;
  stills.before(box);
  const camera = cameraOf(box, [Number(width), Number(height)]);
  const bar = actionBar(root, {
    key: root.dataset.key ?? "",
    camera,
    place: () => ({}),
    isCopy: false,
    name: root.dataset.save ?? "picture.png",
  });
  root.addEventListener("keydown", (event) => viewerKeys(event, camera, bar.say), { signal });
  root.setAttribute("aria-keyshortcuts", "+ - 0");
}

/** As wide as there is room, and not so high that the filmstrip below is out of sight. */
function stageSize(width: number, height: number) {
  return `aspect-ratio:${width}/${height};max-width:min(100%, calc(min(62vh, 540px) * ${width / height}))`;
}

/** Zooms what is in the box. @param size The picture's own. */
function cameraOf(box: HTMLElement, size: number[], click?: () => void) {
  const camera = new Camera(Infinity);
  const measure = () => camera.resize(size, [box.clientWidth, box.clientHeight]);
  camera.addEventListener("change", () => {
    const { isFitted, origin, scale, fit } = camera;
    box.style.setProperty(
      "--zoom",
      isFitted ? "none" : `translate(${origin[0]}px, ${origin[1]}px) scale(${scale / fit})`,
    );
    box.toggleAttribute("data-zoomed", !isFitted);
    box.toggleAttribute("data-crisp", !isFitted && scale >= CRISP_FROM);
  });
  moveCamera(box, camera, click);
  measure();
  new ResizeObserver(measure).observe(box);
  return camera;
}

function viewerKeys(event: KeyboardEvent, camera: Camera, say: (words: string) => void) {
  const arrows = { ArrowUp: () => camera.pan(0, PAN), ArrowDown: () => camera.pan(0, -PAN) };
  answerKey(event, {
    ...camera.keys,
    "?": () => say(EXPLORER_KEYS),
    ...(camera.isFitted ? {} : arrows),
  });
}

for (const root of document.querySelectorAll("[data-rb-explorer]:not([data-rb-ready])") as NodeListOf<HTMLElement>) {
  root.dataset.rbReady = "";
  explorer(root);
}
