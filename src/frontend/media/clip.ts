/** One of several synchronised clips: its box, its file, and its picture, decoded or played. */

import { made } from "../page/element.ts";
import { frameAt, rateOf } from "./clock_time.ts";
import { DecodedPicture } from "./decoded_picture.ts";
import { canDecode, FrameStore, Frames, type Index } from "./frames.ts";
import { PlayedPicture } from "./played_picture.ts";

const MAX_LOAD = 1500; // Milliseconds that the others wait for a file.

/** A clip's file: its bytes and index to decode, or an address to play. */
export type Source = {
  bytes?: Uint8Array | null;
  index?: Index | null;
  times?: number[] | null;
  url?: string;
  words?: string;
  /** Whether it is a small copy of the file. */
  isCopy?: boolean;
};

/** One store for the page, so that several viewers share one budget. */
export const pageFrames = (): FrameStore => ((globalThis as any).reelbookFrames ??= new FrameStore());

/** One clip, with what Python knows of it. */
export class Clip {
  frames = Number(this.box.dataset.frames);
  rate = rateOf(String(this.box.dataset.rate));
  seconds = this.frames / this.rate;
  times: number[] | null = null;
  video = this.box.querySelector("video");
  isInView = false;
  isBroken = false;
  picture: DecodedPicture | PlayedPicture | null = null;
  source: Source | null = null;
  /** In the markup; a player that is given back has none. */
  #url = this.video?.getAttribute("src") ?? "";
  #loading: Promise<void> | null = null;
  #hasWaited = false;
  #goal = 0;
  #turn = 0; // Counts unloads, so that a file that comes afterwards is not loaded.

  /**
   * @param box The element around the poster, with the number of frames and their rate.
   * @param bring Gets the file; by default it is in the markup.
   */
  constructor(
    readonly box: HTMLElement,
    readonly bring: (() => Promise<Source>) | null = null,
  ) {}

  /** The number of the frame on the screen; -1 before there is one. */
  get shown() {
    return this.picture?.shown ?? -1;
  }

  load() {
    return (this.#loading ??= this.#load());
  }

  /** Give the memory back; the poster becomes visible again. */
  unload() {
    if (this.isBroken) return;
    this.#loading = null;
    this.#hasWaited = false;
    this.#turn += 1;
    this.picture?.close();
    this.picture = null;
    this.source = null;
    pageFrames().owners.delete(this);
    delete this.box.dataset.loaded;
  }

  /**
   * Show exactly the frame of this time, and wait until it is on the screen; not long for a file that has yet to come, which
   * shows it when it does.
   */
  async show(time: number) {
    this.#goal = time;
    if (!this.picture) {
      const loaded = this.load();
      if (this.#hasWaited) return;
      await Promise.race([loaded, new Promise((resolve) => setTimeout(resolve, MAX_LOAD))]);
      this.#hasWaited = true;
    }
    await this.#showGoal();
  }

  async #showGoal() {
    try {
      await this.picture?.show(frameAt(this, this.#goal));
    } catch {
      await this.#playInstead();
      await this.picture?.show(frameAt(this, this.#goal));
    }
  }

  /** Ask for the file again, for instance because a kernel is there now. */
  retry() {
    if (this.picture) return;
    this.isBroken = false;
    delete this.box.dataset.broken;
    const isWanted = this.#loading !== null;
    this.#loading = null;
    if (isWanted && this.isInView) this.load();
  }

  /** Stay with the clock while it runs. */
  follow(time: number, speed: number) {
    if (this.isBroken) return;
    this.#goal = time;
    if (this.picture?.isBroken) this.#playInstead();
    else if (this.picture) this.picture.follow(frameAt(this, time), time, speed);
    else this.load();
  }

  rest() {
    this.picture?.rest();
  }

  async #load() {
    const turn = this.#turn;
    const bring = this.bring ?? (async () => sourceOf(this.box, this.#url));
    const source: Source = await bring().catch(() => ({ words: "" }));
    if (turn !== this.#turn) return;
    this.source = source;
    const times = [source.times, source.index?.times].find((found) => found?.length === this.frames);
    if (times) this.times = times;
    try {
      if (!canDecode() || !source.bytes || !source.index) throw new Error("It can only be played.");
      const store = pageFrames();
      // An output may be removed while none of its clips is in view.
      for (const clip of store.owners) if (!clip.box.isConnected) clip.unload();
      const frames = new Frames(store, source.index, source.bytes);
      if (frames.count !== this.frames) {
        frames.close();
        throw new Error("The index is of another file.");
      }
      store.owners.add(this);
      this.#use(new DecodedPicture(frames, this.box, this.rate));
    } catch {
      await this.#playInstead();
    }
  }

  /** Leave it to the browser's player, in small print. */
  async #playInstead() {
    this.picture?.close();
    this.picture = null;
    const { url, words, index } = this.source ?? {};
    if (!url || !this.video) return this.#fail(words);
    this.video.src = url;
    const { frames, rate, seconds } = this;
    const times = index ? (index.times ?? null) : this.times;
    this.#use(new PlayedPicture({ frames, rate, seconds, times }, this.video, () => this.#fail()));
  }

  #use(picture: DecodedPicture | PlayedPicture) {
    this.picture = picture;
    this.box.dataset.loaded = picture.isDecoded ? "decoded" : "played";
    if (this.#hasWaited) this.#showGoal();
  }

  #fail(words = "") {
    this.isBroken = true;
    this.box.dataset.broken = words || "cannot be played here";
  }
}

/** A box for a clip whose file comes later. */
export function makeClipBox(clip: { frames: number | string; rate: string }, attributes: Record<string, string> = {}) {
  const still = { playsinline: "", disablepictureinpicture: "", preload: "none", tabindex: "-1" };
  const video = made("video", { ...still, "aria-label": "the clip" });
  video.muted = true;
  const box = made("div", { "data-frames": clip.frames, "data-rate": clip.rate, ...attributes }, video);
  box.classList.add("rb-clip");
  return box;
}

/** The file in the markup of a box. */
export function sourceOf({ dataset }: HTMLElement, url: string): Source {
  const [index, times] = [dataset.index, dataset.times].map((text) => (text ? JSON.parse(text) : null));
  return { index, times, url, bytes: url && index && canDecode() ? bytesOf(url) : null };
}

/** @param url A `data:` address in base64. */
function bytesOf(url: string) {
  return Uint8Array.from(atob(url.slice(url.indexOf(",") + 1)), (letter) => letter.charCodeAt(0));
}
