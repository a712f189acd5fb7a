/** Figures: a clip plays under the pointer and by keys, its preview is replaced by the original, and code can be copied. */

import { enliven, playUnderPointer } from "../media/video.ts";
import { copyText } from "./copy.ts";
import { made } from "./element.ts";
import { askFile, onKernel } from "./kernel_files.ts";

export type Media = HTMLVideoElement | HTMLImageElement;

function save(media: Media, root: HTMLElement) {
  if (!media.src.startsWith("data:") || !root.dataset.rbSave) return null;
  const preview = root.dataset.rbPreview ? `Save preview (${root.dataset.rbPreview})` : "Save preview";
  const link = made("a", {}, "rbWhole" in root.dataset ? "Save" : preview);
  link.href = media.src;
  link.download = root.dataset.rbSave;
  root.querySelector(".rb-actions")?.prepend(link);
  return link;
}

/** Show another file of the same clip or picture, where it was. */
function swap(media: Media, url: string) {
  if (!(media instanceof HTMLVideoElement)) return void (media.src = url);
  const { currentTime: at, paused } = media;
  media.src = url;
  if (at) media.currentTime = at;
  if (!paused) media.play().catch(() => null);
}

/** Replace the preview with the original file, while a kernel can send it. */
function upgrade(media: Media, root: HTMLElement, link: HTMLAnchorElement) {
  const [key, row] = (root.dataset.rbOriginal ?? "").split(" ");
  if (!key) return;
  const preview = { src: media.src, href: link.href, text: link.textContent, name: link.download };
  const toggleNote = (isPreview: boolean) =>
    root
      .querySelectorAll("[data-rb-note]")
      .forEach((note) => note.closest(".rb-word")?.toggleAttribute("hidden", !isPreview));
  let inView = false,
    isThere = false;
  const ask = async () => {
    if (!inView || isThere || !root.isConnected) return;
    const { url } = await askFile({ key, row: Number(row) });
    if (!url || isThere) return;
    isThere = true;
    Object.assign(link, { href: url, textContent: "Save", download: root.dataset.rbName });
    // Loaded in a separate element first: if the browser cannot play it, it can still be saved, and the preview stays.
    const trial = document.createElement(media.tagName) as Media;
    const show = () => {
      if (!isThere) return;
      swap(media, url);
      root.dataset.rbShows = "original";
      toggleNote(false);
    };
    if (trial instanceof HTMLVideoElement) {
      trial.muted = true;
      trial.preload = "auto";
      trial.addEventListener("loadeddata", show, { once: true });
    } else trial.addEventListener("load", show, { once: true });
    trial.src = url;
  };
  const gone = () => {
    if (!isThere) return;
    isThere = false;
    Object.assign(link, { href: preview.href, textContent: preview.text, download: preview.name });
    if (root.dataset.rbShows) swap(media, preview.src);
    delete root.dataset.rbShows;
    toggleNote(true);
  };
  onKernel(key, ask);
  onKernel(key, gone, "gone");
  new IntersectionObserver((seen) => {
    inView = seen[0].isIntersecting;
    ask();
  }).observe(media);
}

for (const found of document.querySelectorAll("[data-rb-figure]:not([data-rb-ready])")) {
  const root = found as HTMLElement;
  root.dataset.rbReady = "";
  const says = made("div", { role: "status" });
  const video = root.querySelector("video"),
    media = video ?? root.querySelector("img[data-rb-media]");
  root.querySelector("figcaption")?.append(says);
  const link = media && save(media as Media, root);
  if (link) upgrade(media as Media, root, link);
  for (const code of root.querySelectorAll("pre > code")) {
    const button = made("button", { onclick: () => copyText(button, code.textContent ?? "", code) }, "Copy");
    code.closest("pre")?.before(button);
  }
  if (!video) continue;
  const broken = () => {
    says.textContent = "This browser cannot play it; the pictures show what is in it.";
  };
  video.error ? broken() : video.addEventListener("error", broken);
  playUnderPointer(video);
  enliven(video, { rate: Number(root.dataset.rbRate), frames: Number(root.dataset.rbFrames) }, says);
}
