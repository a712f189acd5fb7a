/** One of the compared files: its still from the markup until the kernel has brought it, then its frames. */

import { Clip, makeClipBox } from "../media/clip.ts";
import { ASK_AGAIN, bringFile, onKernel } from "../page/kernel_files.ts";

const NOBODY = "Run the cell again to compare them frame by frame; these are small copies of the middle frames.";

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
  #picture: HTMLImageElement | null = null;
  #wanted: { key: string; row: number; place: number };
  #forget: () => void;
  #words = "";

  /** @param room Where the boxes of clips are put; they are not seen. */
  constructor(
    readonly figure: HTMLElement,
    room: HTMLElement,
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
    if ("canvas" in picture) return picture.shown < 0 ? null : picture.canvas;
    return picture.video.readyState < 2 ? null : picture.video;
  }

  /** What is said while it is not there. */
  get said() {
    return this.#words || (this.clip?.isBroken ? `${this.label} cannot be played in this browser.` : "");
  }

  /** Ask for a picture; a clip asks for itself. */
  async load() {
    if (this.clip || this.#picture) return;
    this.isAsked = true;
    const { url, words } = await this.#bring();
    const picture = Object.assign(new Image(), { src: url ?? "" });
    const isThere = await picture.decode().then(
      () => true,
      () => false,
    );
    if (isThere) this.#picture = picture;
    this.#say(isThere ? "" : words || "It cannot be read as a picture here.");
  }

  close() {
    this.#forget();
    this.clip?.unload();
    this.#picture = null;
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
    // What plays is drawn by the clock.
    clip.video?.addEventListener("seeked", () => this.dispatchEvent(new Event("change")));
    return clip;
  }

  async #bring() {
    const found = await bringFile(this.#wanted, () => this.#say("Waiting for the kernel to send it."));
    this.isAbsent = !found.url;
    return found.words === ASK_AGAIN ? { ...found, words: NOBODY } : found;
  }

  #say(words: string) {
    this.#words = words;
    this.dispatchEvent(new Event("change"));
  }
}
