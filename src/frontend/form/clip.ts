/** What a run has made, as one sees it: a poster with a play control in a box that is there before both, then the clip. */

import { enliven, makeVideo } from "../media/video.ts";
import { made } from "../page/element.ts";
import { FileShelf } from "../page/file_shelf.ts";
import type { KernelLink } from "./kernel.ts";
import { whenSeen } from "./seen.ts";

export type ClipFile = {
  kind: string;
  name: string;
  width: number;
  height: number;
  bytes?: number;
  rate?: number;
  frames?: number;
  caption?: string;
  words?: string;
};
const CLIP_UNASKED_BYTES = 8_000_000; // So much is fetched of the newest without a click.
const CLIP_HIGH = 320;
const CLIP_LOW = 168;
const CLIP_WIDE = 720;
const CLIP_LEAST = 240; // The buttons of a player need that.

/** The posters and clips of the runs of one form. */
export class ClipShelf {
  #files: FileShelf;
  #offs: (() => void)[];

  constructor(link: KernelLink) {
    this.#files = new FileShelf((content) => link.send({ do: "want", ...content }));
    this.#offs = [link.on("clip", (content, buffers) => this.#files.receive(content, buffers))];
  }

  /** A picture of a file; `longest` 0 is the smallest. */
  poster(run: string, file: number, longest: number) {
    return this.#files.fetch([run, file, longest]);
  }

  /** The file itself. */
  clip(run: string, file: number, onProgress?: (share: number) => void) {
    return this.#files.fetch([run, file], onProgress);
  }

  dispose() {
    this.#offs.forEach((off) => off());
    this.#files.dispose();
  }
}

/** How large something stands on the page: as it is where that fits, and never too small for a player's buttons. */
export function clipBox(width: number, height: number, { isVideo, isAlone }: { isVideo: boolean; isAlone: boolean }) {
  const high = isAlone ? CLIP_HIGH : CLIP_LOW;
  let shrink = Math.min(1, CLIP_WIDE / width, high / height);
  if (isVideo && isAlone) shrink = Math.max(shrink, Math.min(CLIP_LEAST / width, CLIP_WIDE / width));
  return { width: Math.max(1, Math.round(width * shrink)), height: Math.max(1, Math.round(height * shrink)) };
}

/** The place of something of this shape, there before it is. */
export function clipReserve(el: HTMLElement, { width, height }: { width: number; height: number }) {
  el.style.width = `${width}px`;
  el.style.aspectRatio = `${width} / ${height}`;
}

/** A file's size as one reads it. */
export function clipSize(count: number) {
  return count < 1000
    ? `${count} B`
    : count < 999_500
      ? `${Math.round(count / 1e3)} kB`
      : `${(count / 1e6).toFixed(1)} MB`;
}

/** One file of a run. It is fetched when it is wanted: by a click, or by itself where it is the newest and small. */
export function makeClip(
  shelf: ClipShelf,
  run: string,
  place: number,
  file: ClipFile,
  { isAlone, isNewest, text }: { isAlone: boolean; isNewest: boolean; text: string },
) {
  const isVideo = file.kind.startsWith("video/");
  const box = clipBox(file.width, file.height, { isVideo, isAlone });
  const frame = made("div", { class: "rbf-clip-frame" });
  const words = made("div", { class: "rbf-caption rbf-clip-words" });
  const el = made("div", { class: isAlone ? "rbf-clip" : "rbf-clip rbf-clip-one" }, frame, words);
  clipReserve(frame, box);
  if (!isAlone) el.style.width = `${Math.max(box.width, 120)}px`;
  words.textContent = file.words ?? (isAlone ? "" : (file.caption ?? ""));
  const still = made("img", { alt: text, class: "rbf-clip-still" });
  const triangle = made("span", { class: "rbf-clip-triangle", "aria-hidden": "true" });
  const label = made("span", { text: file.bytes ? clipSize(file.bytes) : "" });
  const play = made(
    "button",
    { type: "button", class: "rbf-clip-play", "aria-label": `Play ${text}` },
    triangle,
    label,
  );
  let video: HTMLVideoElement | null = null;
  let isOver = false,
    isWanted = false;
  let poster = "";

  const bring = () =>
    shelf.clip(run, place, (share) => {
      label.textContent = `${Math.round(100 * share)}%`;
    });

  const fetch = async () => {
    if (isWanted) label.textContent = "Loading";
    play.setAttribute("aria-busy", "true");
    const { url, words: why } = await bring();
    play.removeAttribute("aria-busy");
    if (isOver || video) return;
    label.textContent = file.bytes ? clipSize(file.bytes) : "";
    if (!url) words.textContent = why;
    else if (isVideo) player(url);
    else still.src = url;
  };

  const player = (url: string) => {
    const hadFocus = document.activeElement === play;
    const media = makeVideo(url, text, { preload: "metadata", title: text, ...(poster && { poster }) });
    video = media;
    media.addEventListener("error", () => {
      if (isOver || video !== media) return;
      words.textContent = "This browser cannot play it. Save it, and play it in another program.";
      media.replaceWith(still);
      video = null;
    });
    enliven(media, { rate: file.rate ?? 24, frames: file.frames ?? 1 });
    frame.replaceChildren(media);
    if (hadFocus) media.focus();
    if (isWanted) media.play().catch(() => null); // Rejected when interrupted by a click, or when the clip is broken, which the error event handles.
  };

  play.addEventListener("click", () => {
    isWanted = true;
    fetch();
  });
  const canPlay = isVideo && !file.words && file.kind !== "";
  frame.append(still, ...(canPlay ? [play] : []));
  const forget = whenSeen(frame, async () => {
    if (file.words) return;
    const found = await shelf.poster(run, place, isAlone ? 640 : 320);
    if (isOver) return;
    poster = found.url;
    if (found.url && !still.src) still.src = found.url;
    else if (found.words && !video) words.textContent = found.words;
    if (isNewest && isAlone && !video && (file.bytes ?? Infinity) <= CLIP_UNASKED_BYTES) fetch();
  });

  return {
    el,
    /** Puts the file on the reader's disk. */
    save: async () => {
      const { url, words: why } = await bring();
      if (!url) words.textContent = why;
      else if (!isOver) made("a", { href: url, download: file.name }).click();
    },
    dispose: () => {
      isOver = true;
      forget();
      video?.pause();
      video?.removeAttribute("src");
    },
  };
}
