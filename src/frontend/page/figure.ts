/** Figures: a clip plays by keys, its preview is replaced by the original, and code can be copied. */

import { enliven } from "../media/video.ts";
import { copyText } from "./copy.ts";
import { made, watchSight } from "./element.ts";
import { askFile, onKernel } from "./kernel_files.ts";

type Media = HTMLVideoElement | HTMLImageElement;

/** A link that saves the file in the page. */
function saveLink(media: Media, root: HTMLElement) {
  const { rbSave, rbPreview, rbWhole } = root.dataset;
  if (!media.src.startsWith("data:") || !rbSave) return null;
  const preview = rbPreview ? `Save preview (${rbPreview})` : "Save preview";
  const link = made("a", { href: media.src, download: rbSave }, rbWhole === undefined ? preview : "Save");
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
  const preview = { href: link.href, textContent: link.textContent, download: link.download };
  const show = (url: string, isPreview: boolean) => {
    swap(media, url);
    if (isPreview) delete root.dataset.rbShows;
    else root.dataset.rbShows = "original";
    for (const note of root.querySelectorAll("[data-rb-note]"))
      note.closest(".rb-word")?.toggleAttribute("hidden", !isPreview);
  };
  let inView = false;
  let isThere = false;
  const ask = async () => {
    if (!inView || isThere || !root.isConnected) return;
    const { url } = await askFile({ key, row: Number(row) });
    if (!url || isThere) return;
    isThere = true;
    Object.assign(link, { href: url, textContent: "Save", download: root.dataset.rbName });
    // Loaded in a separate element first: if the browser cannot play it, it can still be saved, and the preview stays.
    const trial = media.cloneNode() as Media;
    for (const event of ["loadeddata", "load"])
      trial.addEventListener(event, () => isThere && show(url, false), { once: true });
    Object.assign(trial, { preload: "auto", src: url });
  };
  const lose = () => {
    if (!isThere) return;
    isThere = false;
    Object.assign(link, preview);
    if (root.dataset.rbShows) show(preview.href, true);
  };
  onKernel(key, ask);
  onKernel(key, lose, "gone");
  watchSight(media, (isInView) => {
    inView = isInView;
    ask();
  });
}

/** Bring the figures of a page, or of a part of it, to life. */
export function enhanceFigures(scope: ParentNode) {
  for (const root of scope.querySelectorAll<HTMLElement>("[data-rb-figure]:not([data-rb-ready])")) enhance(root);
}

function enhance(root: HTMLElement) {
  root.dataset.rbReady = "";
  const says = made("div", { role: "status" });
  const video = root.querySelector("video");
  const media: Media | null = video ?? root.querySelector<HTMLImageElement>("img[data-rb-media]");
  root.querySelector("figcaption")?.append(says);
  const link = media && saveLink(media, root);
  if (link) upgrade(media, root, link);
  for (const code of root.querySelectorAll("pre > code")) {
    const button = made("button", { onclick: () => copyText(button, code.textContent ?? "") }, "Copy");
    code.closest("pre")?.before(button);
  }
  if (!video) return;
  const fail = () => {
    says.textContent = "This browser cannot play it; the pictures show what is in it.";
  };
  video.error ? fail() : video.addEventListener("error", fail);
  enliven(video, { rate: Number(root.dataset.rbRate), frames: Number(root.dataset.rbFrames) }, says);
}

enhanceFigures(document);
