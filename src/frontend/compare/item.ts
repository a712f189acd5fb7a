/** One of the compared files: its still from the markup until the kernel has brought it, then its frames. */

import { Clip, makeClipBox } from "../media/clip.ts";
import { type DecodedPicture, drawTurned } from "../media/decoded_picture.ts";
import { ASK_AGAIN, bringFile, onKernel } from "../page/kernel_files.ts";
import { convertExactly, hasWeakBlue } from "./colours.ts";

const NOBODY = "Run the cell again to compare them frame by frame; these are small copies of the middle frames.";
const CONNECTING = 1000; // Milliseconds.

/** Gets the file of a key and a row. */
export type Bring = typeof bringFile;

/** A clip or a picture. Dispatches `change` when there is something else to draw, or to say. */
export class CompareItem extends EventTarget {
  place = Number(this.figure.dataset.rbItem);
  label = this.figure.dataset.rbLabel ?? "";
  size = [Number(this.figure.dataset.width), Number(this.figure.dataset.height)];
  still = this.figure.querySelector("img");
  isAsked = false;
  /** Whether nobody has brought the file. */
  isAbsent = false;
  clip: Clip | null = null;
  #picture: ImageBitmap | null = null;
  #wanted: { key: string; row: number; place: number };
  #forget: () => void;
  #words = "";
  /** The frame in exact colours, where the browser has none. */
  #exact: { canvas: HTMLCanvasElement; number: number } | null = null;
  #isRefining = false;

  /** @param room Where the boxes of clips are put; they are not seen. */
  constructor(
    readonly figure: HTMLElement,
    room: HTMLElement,
    readonly bring: Bring = bringFile,
  ) {
    super();
    const [key, row, place] = (figure.dataset.rbKey ?? "").split(" ");
    this.#wanted = { key, row: Number(row), place: Number(place ?? 0) };
    if (figure.dataset.rbKind === "film") this.clip = this.#makeClip(room);
    this.#forget = onKernel(key, () => {
      if (this.clip?.isBroken) this.clip.retry();
      else if (!this.clip && this.isAbsent) this.load();
    });
  }

  /** The frame or the picture that is there now; null before. */
  get live(): CanvasImageSource | null {
    const picture = this.clip?.picture;
    if (!this.clip) return this.#picture;
    if (!picture || this.clip.isBroken) return null;
    if ("canvas" in picture)
      return picture.shown < 0 ? null : this.#exact?.number === picture.shown ? this.#exact.canvas : picture.canvas;
    return picture.video.readyState < 2 ? null : picture.video;
  }

  /** What `live` has: the same as long as it has the same pixels. */
  get mark() {
    const picture = this.clip?.picture;
    if (!picture) return String(this.live !== null);
    return "canvas" in picture ? `${picture.shown}/${this.#exact?.number}` : String(performance.now());
  }

  /** What is said while it is not there. */
  get said() {
    return this.#words || (this.clip?.isBroken ? `${this.label} cannot be played in this browser.` : "");
  }

  /** Whether the frame is there in exact colours; else they are made, and a change says that they are. */
  refine() {
    const picture = this.clip?.picture;
    if (!picture || !("canvas" in picture) || this.#exact?.number === picture.shown) return true;
    const frame = picture.frames.get(picture.shown);
    if (!frame || !("colorSpace" in frame) || !hasWeakBlue(frame)) return true;
    if (!this.#isRefining) this.#refine(picture, frame.clone(), picture.shown);
    return false;
  }

  /** @param frame Closed here. */
  async #refine(picture: DecodedPicture, frame: VideoFrame, number: number) {
    this.#isRefining = true;
    try {
      const image = await createImageBitmap(await convertExactly(frame));
      const canvas = this.#exact?.canvas ?? document.createElement("canvas");
      [canvas.width, canvas.height] = [picture.canvas.width, picture.canvas.height];
      drawTurned(canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D, image, picture.turn);
      image.close();
      this.#exact = { canvas, number };
    } catch {
      this.#exact = { canvas: picture.canvas, number };
    } finally {
      frame.close();
      this.#isRefining = false;
      this.dispatchEvent(new Event("change"));
    }
  }

  /** Ask for a picture; a clip asks for itself. */
  async load() {
    if (this.clip || this.#picture) return;
    this.isAsked = true;
    const { blob, url, words } = await this.#bring();
    this.#picture = await (blob ? createImageBitmap(blob) : pictureAt(url ?? "")).catch(() => null);
    this.#say(this.#picture ? "" : words || "It cannot be read as a picture here.");
  }

  close() {
    this.#forget();
    this.clip?.unload();
    this.#picture?.close();
    this.#picture = this.#exact = null;
  }

  #makeClip(room: HTMLElement) {
    const { frames = "", rate = "" } = this.figure.dataset;
    const box = makeClipBox({ frames, rate });
    room.append(box);
    const clip = new Clip(box, async () => {
      const found = await this.#bring();
      this.#say(found.bytes || found.url ? "" : (found.words ?? ""));
      return found;
    });
    box.addEventListener("reelbook:played", () => this.#follow(clip.video as HTMLVideoElement));
    return clip;
  }

  async #bring() {
    const bring = () => this.bring(this.#wanted, () => this.#say("Waiting for the kernel to send it."));
    let found = await bring();
    if (found.words === ASK_AGAIN && (await this.#arrives())) found = await bring();
    this.isAbsent = !found.url;
    return found.words === ASK_AGAIN ? { ...found, words: NOBODY } : found;
  }

  /** Whether the connection to the kernel comes a moment after the page, as it may. */
  #arrives(): Promise<boolean> {
    if (!this.#wanted.key) return Promise.resolve(false);
    return new Promise((resolve) => {
      const done = (isHere: boolean) => {
        clearTimeout(timer);
        forget();
        resolve(isHere);
      };
      const timer = setTimeout(() => done(false), CONNECTING);
      const forget = onKernel(this.#wanted.key, () => done(true));
    });
  }

  #follow(video: HTMLVideoElement) {
    const again = () => {
      this.dispatchEvent(new Event("change"));
      if (video.isConnected) video.requestVideoFrameCallback?.(again);
    };
    video.addEventListener("seeked", () => this.dispatchEvent(new Event("change")));
    again();
  }

  #say(words: string) {
    this.#words = words;
    this.dispatchEvent(new Event("change"));
  }
}

/** A picture that may be seen and not read, as one beside a page on a disk. */
async function pictureAt(url: string) {
  const image = new Image();
  image.src = url;
  await image.decode();
  return createImageBitmap(image);
}
