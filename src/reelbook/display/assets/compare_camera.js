// @ts-check
/** What part of the compared pictures is on the screen: one zoom and one centre for all views. */

const STEP = 1.5;
const MAX_SCALE = 40; // CSS pixels for one pixel of a picture.
const MAX_FIT = 4; // A tiny picture is not blown up beyond this by itself.

/** The zoom and the centre, in pixels of the pictures. Dispatches `change`. */
export class CompareCamera extends EventTarget {
  /** Width and height of the pictures' box. */
  box = [1, 1];
  /** Those of a view, in CSS pixels. */
  view = [1, 1];
  #centre = [0.5, 0.5];
  /** CSS pixels for one pixel; 0 while all is fitted into the view. */
  #scale = 0;

  get fit() {
    return Math.min(this.view[0] / this.box[0], this.view[1] / this.box[1], MAX_FIT);
  }

  get scale() {
    return this.#scale || this.fit;
  }

  get isFitted() {
    return this.#scale === 0;
  }

  /** Where the upper left corner of the pictures is in a view. */
  get origin() {
    return this.#centre.map((part, axis) => this.view[axis] / 2 - part * this.box[axis] * this.scale);
  }

  /** @param {number[]} box @param {number[]} view */
  resize(box, view) {
    if (box[0] !== this.box[0] || box[1] !== this.box[1]) this.#scale = 0;
    this.box = box;
    this.view = view.map((side) => Math.max(side, 1));
    this.#settle();
  }

  toFit() {
    this.#scale = 0;
    this.#settle();
  }

  /** One pixel of the pictures on one CSS pixel, or all in the view again. */
  toPixels() {
    this.zoom(1 / this.scale);
  }

  /** @param {1 | -1} way @param {number[]} [at] */
  step(way, at) {
    this.zoom(way > 0 ? STEP : 1 / STEP, at);
  }

  /** @param {number} by @param {number[]} at The point of the view that stays where it is. */
  zoom(by, at = this.view.map((side) => side / 2)) {
    const scale = Math.min(Math.max(this.scale * by, Math.min(this.fit, 1)), MAX_SCALE);
    const origin = this.origin;
    const held = at.map((point, axis) => (point - origin[axis]) / this.scale);
    this.#scale = scale <= this.fit * 1.001 && this.fit <= 1 ? 0 : scale;
    this.#centre = held.map((point, axis) => (point - (at[axis] - this.view[axis] / 2) / this.scale) / this.box[axis]);
    this.#settle();
  }

  /** @param {number} x @param {number} y CSS pixels. */
  pan(x, y) {
    this.#centre = [x, y].map((by, axis) => this.#centre[axis] - by / (this.scale * this.box[axis]));
    this.#settle();
  }

  /** No empty margin where the pictures are larger than the view, and none on one side only where they are smaller. */
  #settle() {
    this.#centre = this.#centre.map((part, axis) => {
      const half = this.view[axis] / (2 * this.scale * this.box[axis]);
      return half >= 0.5 ? 0.5 : Math.min(Math.max(part, half), 1 - half);
    });
    this.dispatchEvent(new Event("change"));
  }
}
