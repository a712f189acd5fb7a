/** One of the compared files: its still from the markup until the kernel has brought it, then its frames. */

import { Clip, makeClipBox } from "../media/clip.ts";
import type { Clock } from "../media/clock.ts";
import { made } from "../page/element.ts";
import { ASK_AGAIN, bringFile, onKernel } from "../page/kernel_files.ts";

const STILLS_ONLY = "Run the cell again to compare them frame by frame; these are small copies of the middle frames.";

/** A clip or a picture. */
export class CompareItem {
  place = Number(this.figure.dataset.rbItem);
  label = this.figure.dataset.rbLabel ?? "";
  size = [Number(this.figure.dataset.width), Number(this.figure.dataset.height)];
  still = this.figure.querySelector("img");
  /** Whether nobody has brought the file. */
  isAbsent = false;
  clip: Clip | null = null;
  #picture: HTMLImageElement | null = null;
  #loading: Promise<void> | undefined;
  #words = "";

  /**
   * @param room Where the boxes of clips are put; they are not seen.
   * @param changed Called when there is something else to draw, or to say.
   */
  constructor(
    readonly figure: HTMLElement,
    room: HTMLElement,
    readonly changed: () => void,
  ) {
    this.still?.addEventListener("load", changed);
    if (figure.dataset.rbKind === "film") {
      const { frames = "", rate = "" } = figure.dataset;
      this.clip = new Clip(makeClipBox({ frames, rate }), () => this.#bring());
      room.append(this.clip.box);
      // Redraws after a seek; while it plays, the clock redraws.
      this.clip.video?.addEventListener("seeked", changed);
    }
    onKernel(this.#wanted.key, () => {
      if (!this.isAbsent || !figure.isConnected) return;
      if (this.clip) this.clip.retry();
      else this.#loading = this.#load();
    });
  }

  get #wanted() {
    const [key, row, place = 0] = (this.figure.dataset.rbKey ?? "").split(" ");
    return { key, row: Number(row), place: Number(place) };
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

  /** It has come onto the stage, or has gone. */
  see(isSeen: boolean, clock: Clock) {
    if (this.clip) clock.see(this.clip, isSeen);
    else if (isSeen) this.#loading ??= this.#load();
  }

  async #load() {
    const { url } = await this.#bring();
    if (!url) return;
    const picture = made("img", { src: url });
    try {
      await picture.decode();
      this.#picture = picture;
      this.changed();
    } catch {
      this.#say("It cannot be read as a picture here.");
    }
  }

  async #bring() {
    const found = await bringFile(this.#wanted, () => this.#say("Waiting for the kernel to send it."));
    this.isAbsent = !found.url;
    this.#say(found.words === ASK_AGAIN ? STILLS_ONLY : (found.words ?? ""));
    return found;
  }

  #say(words: string) {
    this.#words = words;
    this.changed();
  }
}
