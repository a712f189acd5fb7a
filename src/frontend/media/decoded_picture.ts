/** A clip's picture as decoded frames on a canvas: the wanted frame exactly, or none. */

import type { Frames } from "./frames.ts";

const LOOK_AHEAD = 0.75; // Seconds that are decoded before they are played.

/** Draws the frames of one clip. */
export class DecodedPicture {
  isDecoded = true;
  canvas = document.createElement("canvas");
  /** Quarters, clockwise. */
  turn = (this.frames.index.rotation ?? 0) / 90;
  /** The number of the frame on the canvas. */
  shown = -1;
  #context = this.canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
  #ahead = Math.ceil(this.rate * LOOK_AHEAD);
  #goal = -1;

  constructor(
    readonly frames: Frames,
    readonly box: HTMLElement,
    readonly rate: number,
  ) {
    const [width, height] = frames.index.size;
    [this.canvas.width, this.canvas.height] =
      frames.index.display ?? (this.turn % 2 ? [height, width] : [width, height]);
  }

  /** Draw this frame, as soon as it is decoded; a later call replaces an earlier one. */
  async show(number: number) {
    this.#goal = number;
    if (this.shown === number) return;
    const frame = await this.frames.want(number);
    if (frame && this.#goal === number) this.#draw(frame, number);
  }

  /** Draw this frame if it is decoded, and have the next ones decoded. */
  follow(number: number) {
    this.#goal = number;
    if (this.shown !== number) {
      const frame = this.frames.get(number);
      if (frame) this.#draw(frame, number);
    }
    this.frames.prepare(number, this.#ahead);
  }

  get isBroken() {
    return this.frames.isBroken;
  }

  rest() {}

  close() {
    this.frames.close();
    this.canvas.remove();
  }

  #draw(frame: VideoFrame | ImageBitmap, number: number) {
    const { canvas, turn } = this;
    const [width, height] = turn % 2 ? [canvas.height, canvas.width] : [canvas.width, canvas.height];
    this.#context.setTransform(1, 0, 0, 1, canvas.width / 2, canvas.height / 2);
    this.#context.rotate((turn * Math.PI) / 2);
    this.#context.drawImage(frame, -width / 2, -height / 2, width, height);
    this.shown = number;
    // Only now: an empty canvas would hide the poster.
    if (!this.canvas.parentNode) this.box.append(this.canvas);
    this.canvas.dispatchEvent(new Event("reelbook:drawn", { bubbles: true }));
  }
}
