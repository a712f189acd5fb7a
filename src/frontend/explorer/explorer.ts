/** The viewer of one clip or picture: large, with a filmstrip, and with buttons that save frames and ranges. */

import { Camera, moveCamera, PAN, zoomButtons } from "../media/camera.ts";
import { Clip, makeClipBox, type Source } from "../media/clip.ts";
import { Clock } from "../media/clock.ts";
import { within } from "../media/clock_time.ts";
import { buttons } from "../media/controls.ts";
import { copyText } from "../page/copy.ts";
import { answerKey, button, made, slider, watchSight } from "../page/element.ts";
import { ASK_AGAIN, askKernel, bringFile, onKernel } from "../page/kernel_files.ts";

const CRISP_FROM = 2; // Pixels of the page for one of the picture.
const REPORT_AFTER = 120; // Milliseconds of rest before the kernel hears which frame is on the screen.
const NO_KERNEL = "The kernel has ended, and it is what saves files. Run the cell again.";
const SMALL_COPY =
  "A small copy, because the file is too large for the page, or of a kind that browsers do not decode. What is saved comes from the file itself.";

/** Becomes a viewer when it is seen and a kernel is there. */
function explorer(root: HTMLElement) {
  const key = root.dataset.key ?? "";
  const note = root.querySelector("[data-rb-note]") as HTMLElement;
  const say = (words: string) => note.firstElementChild?.replaceChildren(words);
  let isOpen = false;
  const open = async () => {
    if (isOpen || !key) return;
    isOpen = true;
    const file = await bringExplored(root, () => say("Loading, waiting for the kernel."));
    isOpen = Boolean(file.url);
    if (isOpen) explore(root, file);
    else if (file.words && file.words !== ASK_AGAIN) say(file.words);
    note.hidden = isOpen;
  };
  onKernel(key, open);
  watchSight(root, (isInView) => isInView && open());
}

/** The file, or a small copy of a clip that is too large. For one that browsers do not decode the kernel sends a copy by itself. */
async function bringExplored(root: HTMLElement, wait?: () => void): Promise<Source> {
  const wanted = { key: root.dataset.key ?? "", row: 0 };
  const file = await bringFile(wanted, wait);
  if (file.url || file.words === ASK_AGAIN || root.dataset.rbExplorer !== "clip") return file;
  const copy = await bringFile({ ...wanted, copy: "preview" }, wait);
  return copy.url ? copy : file;
}

function explore(root: HTMLElement & { clock?: Clock }, file: Source) {
  const { width, height, frames, rate, rbExplorer: kind } = root.dataset as Record<string, string>;
  const size = [Number(width), Number(height)];
  const stills = root.querySelector("[data-rb-stills]") as HTMLElement;
  const [first] = stills.querySelectorAll("img");
  // As wide as there is room, and not so high that the filmstrip below is out of sight.
  const style = `aspect-ratio:${width}/${height};max-width:min(100%, calc(min(62vh, 540px) * ${size[0] / size[1]}))`;
  const box =
    kind === "clip"
      ? makeClipBox({ frames, rate }, { class: "rb-stage", style })
      : made("div", { class: "rb-clip rb-stage", style });
  box.prepend(kind === "clip" ? first.cloneNode() : made("img", { src: file.url, alt: first.alt }));
  stills.hidden = true;
  stills.before(box);
  const clock = kind === "clip" ? makeClock(root, box, file) : null;
  const camera = cameraOf(box, size, () => clock?.toggle());
  const say = actionBar(root, camera, clock);
  if (file.isCopy) say(SMALL_COPY);
  root.addEventListener("keydown", (event) => {
    const arrows = { ArrowUp: () => camera.pan(0, PAN), ArrowDown: () => camera.pan(0, -PAN) };
    answerKey(event, { ...camera.keys, ...(camera.isFitted ? {} : arrows) });
  });
  root.setAttribute("aria-keyshortcuts", clock ? "Space ArrowLeft ArrowRight Home End L [ ] + - 0 ?" : "+ - 0");
  if (clock) followKernel(root, clock);
}

/** The clip with its time line. Off the page it gives its memory back, and asks for its file again when it is seen. */
function makeClock(root: HTMLElement & { clock?: Clock }, box: HTMLElement, file: Source) {
  const files = [file];
  const clip = new Clip(box, async () => files.pop() ?? bringExplored(root));
  const clock = new Clock([clip]);
  root.clock = clock;
  root.dataset.rbClock = "";
  root.classList.add("rb-clock");
  buttons(root, clock, " · + − zoom · 0 fit");
  filmstrip(root, clock);
  watchSight(box, (isInView) => clock.see(clip, isInView));
  return clock;
}

/** Begin where the kernel is, go where it goes, and tell it where the page is. */
function followKernel(root: HTMLElement, clock: Clock) {
  const key = root.dataset.key ?? "";
  const [first, last] = (root.dataset.range || "").split(" ").map(Number);
  clock.range = last ? [first, last] : null;
  clock.seek(Number(root.dataset.at));
  const place = () => ({ frame: clock.frame, range: clock.range });
  let timer = 0;
  let before = JSON.stringify(place());
  clock.addEventListener("change", () => {
    clearTimeout(timer);
    if (clock.playing) return;
    timer = window.setTimeout(() => {
      const now = JSON.stringify(place());
      if (now !== before) askKernel(key, { do: "place", ...place() });
      before = now;
    }, REPORT_AFTER);
  });
  const go = ({ told }: { told: { frame: number; range: [number, number] | null } }) => {
    clock.range = told.range;
    clock.seek(told.frame);
  };
  onKernel(key, go, "told");
}

/** The stills of the markup along the time line, whose slider lies above them, and the range with two handles. */
function filmstrip(root: HTMLElement, clock: Clock) {
  const line = root.querySelector(".rb-line") as HTMLElement;
  const images = [...root.querySelectorAll("[data-rb-stills] img")].map((image) => image.cloneNode());
  const last = () => clock.frames - 1;
  const range = (): [number, number] => clock.range ?? [0, last()];
  const move = (side: number, to: number) => {
    if (clock.frames < 2) return;
    const moved = range();
    moved[side] = side ? within(to, moved[0] + 1, last()) : within(to, 0, moved[1] - 1);
    clock.range = moved;
    clock.seek(moved[side]);
  };
  const handles = ["Begin of the range", "End of the range"].map((label, side) =>
    slider(label, (to) => move(side, to), {
      class: "rb-handle",
      "data-side": side,
      title: `${label} (${"[]"[side]})`,
    }),
  );
  const place = () => {
    handles.forEach((handle, side) => {
      const frame = range()[side];
      handle.max = String(last());
      handle.value = String(frame);
      handle.setAttribute("aria-valuetext", `frame ${frame + 1} of ${clock.frames}`);
    });
  };
  line.prepend(made("div", { class: "rb-film-strip", "aria-hidden": "true" }, ...images));
  line.append(...handles);
  clock.addEventListener("change", place);
  place();
}

/** Zooms what is in the box. @param size The picture's own. */
function cameraOf(box: HTMLElement, size: number[], click: () => void) {
  const camera = new Camera(Infinity);
  const measure = () => camera.resize(size, [box.clientWidth, box.clientHeight]);
  camera.addEventListener("change", () => {
    const { isFitted, origin, scale, fit } = camera;
    const zoom = `translate(${origin[0]}px, ${origin[1]}px) scale(${scale / fit})`;
    box.style.setProperty("--zoom", isFitted ? "none" : zoom);
    box.toggleAttribute("data-zoomed", !isFitted);
    box.toggleAttribute("data-crisp", !isFitted && scale >= CRISP_FROM);
  });
  moveCamera(box, camera, click);
  new ResizeObserver(measure).observe(box);
  measure();
  return camera;
}

/**
 * The buttons below: save a still, a range, a GIF; use the frame in code; zoom. What came of it is said under them.
 * @param clock That of a clip; none for a picture.
 */
function actionBar(root: HTMLElement, camera: Camera, clock: Clock | null): (words: string) => void {
  const status = made("div", { class: "rb-said", role: "status" });
  const say = (...words: (Node | string)[]) => status.replaceChildren(...words);
  /** A button that has the kernel do something with the frame on the screen. */
  const action = (words: string, what: string, title: string, finish: (message: any) => void) => {
    const act = async () => {
      if (one.ariaBusy === "true") return;
      one.ariaBusy = "true";
      if (finish === saySaved) say("Saving…");
      const place = clock ? { frame: clock.frame, range: clock.range } : {};
      const message = await askKernel(root.dataset.key ?? "", { do: what, ...place });
      one.ariaBusy = null;
      if (!message || message.gone) say(NO_KERNEL);
      else if (message.error) say(made("span", { class: "rb-wrong" }, message.error));
      else finish(message);
    };
    const one = button(words, act, { title });
    return one;
  };
  const saySaved = ({ path, size }: any) => say("Saved ", made("code", {}, made("bdi", {}, path)), ` · ${size}`);
  const sayUse = ({ code, name }: any) => {
    const shown = made("code", {}, code);
    const copy = button("Copy code", () => copyText(copy, code), { class: "rb-link" });
    say(shown, " · ", copy, name ? "" : " · First give the explorer a name: explorer = run.video.explore().");
  };

  const still = clock
    ? action("Save still", "still", "This frame in its full size, as a PNG", saySaved)
    : action("Save", "still", "A copy of the file, with how it was made", saySaved);
  const range = action("Save clip", "clip", "As an MP4: all of it, or exactly the frames between [ and ]", saySaved);
  const gif = action("Save GIF", "gif", "Exactly the frames of the range, as an endless GIF", saySaved);
  const label = clock ? "Use this frame" : "Use this picture";
  const use = action(label, "use", "As the picture of any field that takes one", sayUse);
  clock?.addEventListener("change", () => {
    const [first, last] = clock.range ?? [0, clock.frames - 1];
    const count = last - first + 1;
    range.textContent = clock.range ? `Save range · ${count} ${count === 1 ? "frame" : "frames"}` : "Save clip";
    range.disabled = gif.disabled = clock.range !== null && count === 1;
  });

  const files = made("span", { class: "rb-group" }, still, ...(clock ? [range, gif] : []), use);
  const below = root.querySelector("[data-rb-transport]") ?? root.querySelector("[data-rb-stills]");
  below?.after(made("div", { class: "rb-bar" }, files, zoomButtons(camera)), status);
  return say;
}

for (const root of document.querySelectorAll<HTMLElement>("[data-rb-explorer]:not([data-rb-ready])")) {
  root.dataset.rbReady = "";
  explorer(root);
}
