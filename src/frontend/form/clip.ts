/** What a run has made, as one sees it: a poster with a play control in a box that is there before both, then the clip. */

import { enliven, makeVideo } from "../media/video.ts";
import { made } from "../page/element.ts";
import type { FormLink } from "./link.ts";
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
/** An address and what decodes it, or words that say why there is none. */
export type ClipFound = { url: string; words: string; blob?: Blob; index?: any };
export type ClipOrder = {
  done: (found: ClipFound) => void;
  promise: Promise<ClipFound>;
  parts: any[];
  had: number;
  of: number;
  index?: any;
  kind?: string;
  listeners: Set<(share: number) => void>;
};

const CLIP_MOST_BYTES = 150_000_000; // Size of clips stored in the page while not in use.
const CLIP_UNASKED_BYTES = 8_000_000; // So much is fetched of the newest without a click.
const CLIP_HIGH = 320;
const CLIP_LOW = 168;
const CLIP_WIDE = 720;
const CLIP_LEAST = 240; // The buttons of a player need that.
const CLIP_GONE = "The kernel has ended; run the cell again to see it here.";

/** Cache of posters and clips from the kernel: each is fetched once, and released with the form at the latest. */
export class ClipShelf {
  link: FormLink;
  offs: (() => void)[];
  #awaited: Map<string, ClipOrder> = new Map();
  /** Stored clips, the least recently used first. */
  #clips: Map<string, { url: string; bytes: number; users: number; blob: Blob; index?: any }> = new Map();
  #posters: Map<string, Promise<ClipFound>> = new Map();
  #urls: string[] = [];

  constructor(link: FormLink) {
    this.link = link;
    this.offs = [
      link.on("poster", (content, buffers) => this.#showed(content, buffers)),
      link.on("clip", (content, buffers) => this.#brought(content, buffers)),
    ];
  }

  /** A picture of a file; `longest` 0 is the smallest. */
  poster(run: string, file: number, longest: number) {
    const name = `poster/${run}/${file}/${longest}`;
    const known = this.#posters.get(name);
    if (known) return known;
    const { promise } = this.#order(name);
    this.#posters.set(name, promise);
    this.#send(name, { do: "poster", run, file, longest });
    return promise;
  }

  /** The file itself; each use of it ends with `leave`. */
  async clip(run: string, file: number, onProgress: (share: number) => void) {
    const name = `clip/${run}/${file}`;
    if (!this.#clips.has(name)) {
      const order = this.#awaited.get(name) ?? this.#order(name);
      order.listeners.add(onProgress);
      // Repeated for a pending request, because the first message may have been lost with a connection.
      this.#send(name, { do: "bring", run, file });
      const found = await order.promise;
      if (!found.url) return found;
    }
    const held = this.#clips.get(name);
    if (!held) return { url: "", words: CLIP_GONE };
    held.users += 1;
    this.#clips.delete(name);
    this.#clips.set(name, held);
    return { url: held.url, words: "", blob: held.blob, index: held.index };
  }

  leave(run: string, file: number) {
    const held = this.#clips.get(`clip/${run}/${file}`);
    if (held) held.users -= 1;
    this.#tidy();
  }

  dispose() {
    this.offs.forEach((off) => off());
    for (const name of [...this.#awaited.keys()]) this.#settle(name, { url: "", words: CLIP_GONE });
    [...this.#urls, ...[...this.#clips.values()].map((held) => held.url)].forEach((url) => URL.revokeObjectURL(url));
    this.#clips.clear();
    this.#posters.clear();
  }

  #order(name: string) {
    let done: (found: ClipFound) => void = () => {};
    const promise = new Promise((resolve: (found: ClipFound) => void) => {
      done = resolve;
    });
    const order: ClipOrder = { done, promise, parts: [], had: 0, of: 0, listeners: new Set() };
    this.#awaited.set(name, order);
    return order;
  }

  /** @param message Sending fails after a restart of the kernel. */
  async #send(name: string, message: object) {
    try {
      await this.link.send(message);
    } catch {
      this.#settle(name, { url: "", words: CLIP_GONE });
    }
  }

  #showed(content: any, buffers: any[]) {
    const name = `poster/${content.poster.join("/")}`;
    if (!this.#awaited.has(name)) return; // Requested by another page of the same notebook.
    if (content.words) return this.#settle(name, { url: "", words: content.words });
    const url = URL.createObjectURL(new Blob([buffers[0]], { type: "image/jpeg" }));
    this.#urls.push(url);
    this.#settle(name, { url, words: "" });
  }

  #brought(content: any, buffers: any[]) {
    const name = `clip/${content.clip.join("/")}`;
    const order = this.#awaited.get(name);
    if (!order) return;
    if (content.words) return this.#settle(name, { url: "", words: content.words });
    order.had += order.parts[content.part] ? 0 : 1;
    order.parts[content.part] = buffers[0];
    if (content.part === 0) [order.kind, order.index] = [content.kind, content.index];
    order.listeners.forEach((listener) => listener(order.had / content.of));
    if (order.had < content.of) return;
    const blob = new Blob(order.parts, { type: order.kind });
    this.#clips.set(name, { url: URL.createObjectURL(blob), bytes: blob.size, users: 0, blob, index: order.index });
    this.#settle(name, { url: (this.#clips.get(name) as any).url, words: "" });
  }

  #settle(name: string, found: ClipFound) {
    const order = this.#awaited.get(name);
    this.#awaited.delete(name);
    if (!found.url) this.#posters.delete(name); // It may be there the next time.
    order?.done(found);
  }

  /** Release the least recently used clips. */
  #tidy() {
    let bytes = [...this.#clips.values()].reduce((sum, held) => sum + held.bytes, 0);
    for (const [name, held] of this.#clips) {
      if (bytes <= CLIP_MOST_BYTES) return;
      if (held.users > 0) continue;
      URL.revokeObjectURL(held.url);
      this.#clips.delete(name);
      bytes -= held.bytes;
    }
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

/**
 * Puts the smallest picture of a run into its box when that is seen.
 * @param sign What stands there if there is none.
 * @returns Forget it.
 */
export function clipPoster(shelf: ClipShelf, run: string, box: HTMLElement, sign: string = ""): () => void {
  return whenSeen(box, async () => {
    const found = await shelf.poster(run, 0, 0);
    if (!found.url) box.textContent = sign;
    else if (box.isConnected) box.replaceChildren(made("img", { src: found.url, alt: "" }));
  });
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
    isWanted = false,
    holds = 0;
  let poster = "";

  const hold = async () => {
    const found = await shelf.clip(run, place, (share) => {
      label.textContent = `${Math.round(100 * share)}%`;
    });
    if (found.url && isOver) shelf.leave(run, place);
    else if (found.url) holds += 1;
    return found;
  };

  const fetch = async () => {
    if (isWanted) label.textContent = "Loading";
    play.setAttribute("aria-busy", "true");
    const { url, words: why } = await hold();
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
      const { url, words: why } = await hold();
      if (!url) words.textContent = why;
      else if (!isOver) made("a", { href: url, download: file.name }).click();
    },
    dispose: () => {
      isOver = true;
      forget();
      video?.pause();
      video?.removeAttribute("src");
      for (; holds > 0; holds -= 1) shelf.leave(run, place);
    },
  };
}
