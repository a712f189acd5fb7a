/** The buttons of an explorer: save a still, a range, a GIF; use the frame in code; zoom. What came of it is said below them. */

import type { Camera } from "../media/camera.ts";
import type { Clip } from "../media/clip.ts";
import type { Clock } from "../media/clock.ts";
import { copyText } from "../page/copy.ts";
import { made } from "../page/element.ts";
import { askKernel } from "../page/kernel_files.ts";

const NO_KERNEL =
  "The kernel has ended, and it is what saves files. Run the cell again; a still can be downloaded without it.";

/** What the buttons act on. */
export interface Explored {
  key: string;
  camera: Camera;
  /** None for a picture. */
  clip?: Clip;
  clock?: Clock;
  place: () => { frame?: number; range?: [number, number] | null };
  /** Whether the clip on the page is a small copy. */
  isCopy: boolean;
  /** That of the file, for downloads. */
  name: string;
}

export function actionBar(root: HTMLElement, explored: Explored): { say: (words: string) => void } {
  const { clip, clock, camera } = explored;
  const status = made("div", { class: "rb-said", role: "status" });
  const panel = made("div", { class: "rb-use", hidden: "" });
  const say = (...words: (Node | string)[]) => status.replaceChildren(...words);
  const act = (what: string) => askKernel(explored.key, { do: what, ...explored.place() });

  /** @param instead Without a kernel. */
  const save = async (button: HTMLElement, what: string, instead: () => void = () => say(NO_KERNEL)) => {
    if (button.hasAttribute("aria-busy")) return;
    button.setAttribute("aria-busy", "true");
    say("Saving…");
    const found = await act(what);
    button.removeAttribute("aria-busy");
    if (!found || found.message.gone) return instead();
    if (found.message.error) return say(made("span", { class: "rb-wrong" }, found.message.error));
    say(...savedWords(explored.key, found.message, say));
  };
  const still = actionButton(
    clip ? "Save still" : "Save",
    clip ? "This frame in its full size, as a PNG" : "A copy of the file, with how it was made",
    () => save(still, "still", clip ? () => downloadStill(explored, say) : undefined),
  );
  const range = actionButton("Save range", "", () => save(range, "clip"));
  const gif = actionButton("Save GIF", "Exactly the frames of the range, as an endless GIF", () => save(gif, "gif"));
  const use = actionButton(
    clip ? "Use this frame" : "Use this picture",
    "As the picture of an input or a form",
    async () => {
      const found = await act("use");
      if (!found || found.message.gone) return say(NO_KERNEL);
      const close = () => {
        panel.hidden = true;
      };
      panel.hidden = false;
      panel.replaceChildren(...useWords(found.message, close), about);
      name = found.message.name;
      describe();
    },
  );
  const about = made("p");
  let name = "";
  const describe = () => {
    const words = clock
      ? `The picture is the frame on the screen, now ${clock.frame + 1} of ${clock.frames}. Code counts from 0: ${name || "explorer"}.frame is ${clock.frame}. `
      : "";
    about.textContent = `${words}It fits every field that takes a picture.${name ? "" : " First give the explorer a name: explorer = run.video.explore()."}`;
  };

  const scale = actionButton("", "Fit (0)", () => (camera.isFitted ? camera.toPixels() : camera.toFit()));
  const less = actionButton("−", "Smaller (−)", () => camera.step(-1), "Zoom out");
  const more = actionButton("+", "Larger (+)", () => camera.step(1), "Zoom in");
  const showScale = () => {
    const percent = `${Math.round(camera.scale * 100)}%`;
    scale.textContent = camera.isFitted ? "Fit" : percent;
    scale.title = camera.isFitted ? `One pixel for each of the picture; now ${percent}` : "Fit (0)";
    scale.setAttribute("aria-label", `Zoom: ${scale.textContent}`);
  };
  camera.addEventListener("change", showScale);
  showScale();

  if (clock) {
    const change = () => {
      describe();
      const [first, last] = clock.range ?? [0, clock.frames - 1];
      const count = last - first + 1;
      range.textContent = clock.range ? `Save range · ${count} ${count === 1 ? "frame" : "frames"}` : "Save clip";
      range.title = clock.range
        ? `Exactly the frames ${first + 1} to ${last + 1}, as an MP4`
        : "The entire clip; set a range with [ and ] or with the handles";
      if (count === 1) range.title = "One frame alone: save it as a still";
      range.disabled = gif.disabled = count === 1 && clock.range !== null;
    };
    clock.addEventListener("change", change);
    change();
  }

  const files = made("span", { class: "rb-group" }, still, ...(clip ? [range, gif] : []), use);
  const sizes = made("span", { class: "rb-group rb-zoom", role: "group", "aria-label": "Zoom" }, less, scale, more);
  const below = root.querySelector("[data-rb-transport]") ?? root.querySelector("[data-rb-stills]");
  below?.after(made("div", { class: "rb-bar" }, files, sizes), status, panel);
  return { say };
}

function actionButton(label: string, title: string, act: () => unknown, name?: string) {
  return made("button", { type: "button", title, onclick: act, "aria-label": name }, label);
}

/** What was saved where, with a link that downloads it. */
function savedWords(key: string, saved: any, fail: (words: string) => void) {
  const fetchSaved = async () => {
    const found = await askKernel(key, { do: "fetch", number: saved.number });
    if (!found?.buffers.length) return fail(found?.message.error ?? NO_KERNEL);
    download(new Blob(found.buffers), saved.name);
  };
  const attributes = { type: "button", class: "rb-link", title: `Download ${saved.name}`, onclick: fetchSaved };
  const link = made("button", attributes, "Download");
  return ["Saved ", made("code", {}, made("bdi", {}, saved.path)), ` · ${saved.size} · `, link];
}

/** How the frame is used in code. */
function useWords(found: any, close: () => void) {
  const code = made("code", {}, found.code);
  const copy = made("button", { type: "button", onclick: () => copyText(copy, found.code, code) }, "Copy code");
  const end = made("button", { type: "button", "aria-label": "Close", onclick: close }, "×");
  return [made("div", { class: "rb-use-row" }, made("pre", {}, code), copy, end)];
}

/** The frame on the screen as a PNG, made by the browser. */
async function downloadStill({ clip, clock, name, isCopy }: Explored, say: (...words: string[]) => void) {
  if (!clip || !clock) return;
  const picture = clip.picture as any;
  const canvas = picture?.canvas ?? document.createElement("canvas");
  if (!picture?.canvas) {
    const video = clip.video as HTMLVideoElement;
    [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
    canvas.getContext("2d").drawImage(video, 0, 0);
  }
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) return say("This frame is not loaded yet. Try again in a moment.");
  const stem = name.replace(/\.\w+$/, "");
  download(blob, `${stem}_frame-${clock.frame + 1}-of-${clock.frames}${isCopy ? "_preview" : ""}.png`);
  say("Downloaded by the browser, because there is no kernel to save it.");
}

function download(blob: Blob, name: string) {
  const link = made("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
