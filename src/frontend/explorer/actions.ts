/** The buttons of an explorer: save a still, a range, a GIF; use the frame in code; zoom. What came of it is said below them. */

import { type Camera, zoomButtons } from "../media/camera.ts";
import type { Clock } from "../media/clock.ts";
import { copyText } from "../page/copy.ts";
import { button, made } from "../page/element.ts";
import { askKernel } from "../page/kernel_files.ts";

const NO_KERNEL = "The kernel has ended, and it is what saves files. Run the cell again.";

/** @param clock That of a clip; none for a picture. */
export function actionBar(root: HTMLElement, camera: Camera, clock: Clock | null): (words: string) => void {
  const key = root.dataset.key ?? "";
  const status = made("div", { class: "rb-said", role: "status" });
  const say = (...words: (Node | string)[]) => status.replaceChildren(...words);
  /** Have the kernel do something with the frame on the screen; it is said what went wrong. */
  const act = async (what: string, more: Record<string, unknown> = {}) => {
    const place = clock ? { frame: clock.frame, range: clock.range } : {};
    const { message, buffers } = (await askKernel(key, { do: what, ...place, ...more })) ?? { buffers: [] };
    if (!message || message.gone) say(NO_KERNEL);
    else if (message.error) say(made("span", { class: "rb-wrong" }, message.error));
    else return { message, buffers };
    return null;
  };

  const saver = (words: string, what: string, title: string) => {
    const save = async () => {
      if (one.hasAttribute("aria-busy")) return;
      one.setAttribute("aria-busy", "true");
      say("Saving…");
      const saved = (await act(what))?.message;
      one.removeAttribute("aria-busy");
      if (!saved) return;
      const fetch = async () => {
        const found = await act("fetch", { number: saved.number });
        if (found?.buffers.length) download(new Blob(found.buffers), saved.name);
      };
      const link = button("Download", fetch, { class: "rb-link", title: `Download ${saved.name}` });
      say("Saved ", made("code", {}, made("bdi", {}, saved.path)), ` · ${saved.size} · `, link);
    };
    const one = button(words, save, { title });
    return one;
  };
  const still = clock
    ? saver("Save still", "still", "This frame in its full size, as a PNG")
    : saver("Save", "still", "A copy of the file, with how it was made");
  const range = saver("Save clip", "clip", "");
  const gif = saver("Save GIF", "gif", "Exactly the frames of the range, as an endless GIF");
  const use = button(
    clock ? "Use this frame" : "Use this picture",
    async () => {
      const used = (await act("use"))?.message;
      if (!used) return;
      const code = made("code", {}, used.code);
      const copy = button("Copy code", () => copyText(copy, used.code, code), { class: "rb-link" });
      const about = ` · It is the ${clock ? "frame on the screen" : "picture"}, and fits every field that takes one.`;
      say(
        code,
        " · ",
        copy,
        about,
        used.name ? "" : " First give the explorer a name: explorer = run.video.explore().",
      );
    },
    { title: "As the picture of an input or a form" },
  );
  clock?.addEventListener("change", () => {
    const [first, last] = clock.range ?? [0, clock.frames - 1];
    const count = last - first + 1;
    const isOne = clock.range !== null && count === 1;
    range.textContent = clock.range ? `Save range · ${count} ${count === 1 ? "frame" : "frames"}` : "Save clip";
    range.title = clock.range
      ? `Exactly the frames ${first + 1} to ${last + 1}, as an MP4`
      : "The entire clip; set a range with [ and ] or with the handles";
    range.disabled = gif.disabled = isOne;
  });

  const files = made("span", { class: "rb-group" }, still, ...(clock ? [range, gif] : []), use);
  const below = root.querySelector("[data-rb-transport]") ?? root.querySelector("[data-rb-stills]");
  below?.after(made("div", { class: "rb-bar" }, files, zoomButtons(camera)), status);
  return say;
}

function download(blob: Blob, name: string) {
  const link = made("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
