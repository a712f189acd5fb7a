/** What part of a picture is on the screen, or of several at once: one zoom and one centre, moved by pointers and keys. */

import { answerKey, button, made } from "../page/element.ts";
import { within } from "./clock_time.ts";

const STEP = 2;
const MAX_SCALE = 32; // CSS pixels for one pixel of a picture.
export const PAN = 40; // CSS pixels.
const CLICK_DISTANCE = 4;

/** The zoom and the centre, in pixels of the picture. Dispatches `change`. */
export class Camera extends EventTarget {
  /** Width and height of the picture, or of the box around several. */
  box = [1, 1];
  /** Those of a view, in CSS pixels. */
  view = [1, 1];
  #centre = [0.5, 0.5];
  /** CSS pixels for one pixel; 0 while all is fitted into the view. */
  #scale = 0;

  /** @param maxFit How far a tiny picture is blown up by itself. */
  constructor(readonly maxFit: number) {
    super();
  }

  get fit() {
    return Math.min(this.view[0] / this.box[0], this.view[1] / this.box[1], this.maxFit);
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

  resize(box: number[], view: number[]) {
    if (box[0] !== this.box[0] || box[1] !== this.box[1]) this.#scale = 0;
    this.box = box;
    this.view = view.map((side) => Math.max(side, 1));
    this.#settle();
  }

  toFit() {
    this.#scale = 0;
    this.#settle();
  }

  /** @param way Larger, or smaller. */
  step(way: 1 | -1) {
    this.zoom(STEP ** way);
  }

  /** The keys of all viewers that zoom. */
  get keys(): Record<string, () => void> {
    const [larger, smaller] = [() => this.step(1), () => this.step(-1)];
    return { "+": larger, "=": larger, "-": smaller, "−": smaller, "0": () => this.toFit() };
  }

  /** @param at The point of the view that stays where it is. */
  zoom(by: number, at: number[] = this.view.map((side) => side / 2)) {
    const scale = within(this.scale * by, Math.min(this.fit, 1), MAX_SCALE);
    const origin = this.origin;
    const held = at.map((point, axis) => (point - origin[axis]) / this.scale);
    this.#scale = Math.abs(scale / this.fit - 1) < 1e-3 ? 0 : scale;
    this.#centre = held.map((point, axis) => (point - (at[axis] - this.view[axis] / 2) / this.scale) / this.box[axis]);
    this.#settle();
  }

  /** @param y CSS pixels. */
  pan(x: number, y: number) {
    this.#centre = [x, y].map((by, axis) => this.#centre[axis] - by / (this.scale * this.box[axis]));
    this.#settle();
  }

  /** No empty margin where the pictures are larger than the view, and none on one side only where they are smaller. */
  #settle() {
    this.#centre = this.#centre.map((part, axis) => {
      const half = this.view[axis] / (2 * this.scale * this.box[axis]);
      return half >= 0.5 ? 0.5 : within(part, half, 1 - half);
    });
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * Drag, wheel with ctrl, and arrow keys while the view has the focus.
 * @param click Called for a press that moved nothing.
 */
export function moveCamera(el: HTMLElement, camera: Camera, click: () => void = () => {}) {
  /** Where the pointer was pressed, and where it was last. */
  let held: { start: number[]; last: number[]; isClick: boolean } | null = null;
  const at = ({ clientX, clientY }: MouseEvent) => {
    const { left, top } = el.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  el.addEventListener("pointerdown", (event) => {
    if (event.button || !event.isPrimary || (event.target as HTMLElement).closest("input")) return;
    held = { start: at(event), last: at(event), isClick: true };
    if (!camera.isFitted) el.setPointerCapture(event.pointerId);
  });
  el.addEventListener("pointermove", (event) => {
    if (!held || !event.isPrimary) return;
    const [now, { start, last }] = [at(event), held];
    if (Math.hypot(now[0] - start[0], now[1] - start[1]) > CLICK_DISTANCE) held.isClick = false;
    held.last = now;
    camera.pan(now[0] - last[0], now[1] - last[1]);
  });
  const drop = (event: PointerEvent) => {
    if (held?.isClick && event.type === "pointerup") click();
    held = null;
  };
  for (const name of ["pointerup", "pointercancel", "pointerleave"] as const) el.addEventListener(name, drop);
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey) return; // The page scrolls.
    event.preventDefault();
    camera.zoom(Math.exp(-event.deltaY / 200), at(event));
  };
  el.addEventListener("wheel", wheel, { passive: false });
  el.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 5 * PAN : PAN;
    if (event.target !== el || camera.isFitted) return; // Otherwise arrows step the clips.
    answerKey(event, {
      ArrowLeft: () => camera.pan(far, 0),
      ArrowRight: () => camera.pan(-far, 0),
      ArrowUp: () => camera.pan(0, far),
      ArrowDown: () => camera.pan(0, -far),
    });
  });
}

/** Smaller, all in the view, and larger. */
export function zoomButtons(camera: Camera) {
  const fit = button("", () => camera.toFit(), { title: "All in view (0)" });
  const show = () => {
    fit.textContent = camera.isFitted ? "Fit" : `${Math.round(camera.scale * 100)}%`;
    fit.setAttribute("aria-label", `Zoom: ${fit.textContent}`);
  };
  camera.addEventListener("change", show);
  show();
  return made(
    "span",
    { class: "rb-group rb-zoom", role: "group", "aria-label": "Zoom" },
    button("−", () => camera.step(-1), { title: "Smaller (−)", "aria-label": "Zoom out" }),
    fit,
    button("+", () => camera.step(1), { title: "Larger (+)", "aria-label": "Zoom in" }),
  );
}
