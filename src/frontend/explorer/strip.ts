/** The filmstrip of a clip: stills over its whole length, the frame under the pointer, and the range with two handles. */

import { type Clip, pageFrames, type Source } from "../media/clip.ts";
import type { Clock } from "../media/clock.ts";
import { within } from "../media/clock_time.ts";
import { drawTurned } from "../media/decoded_picture.ts";
import { canDecode, Frames } from "../media/frames.ts";
import { made } from "../page/element.ts";
import { answerKey } from "../page/keys.ts";

const EDGE_PIXELS = 1.5; // Half of the thumb of the slider below, which keeps that far from both ends.
const BUBBLE = 160;

type Still = { number: number; source: CanvasImageSource; left: number; width: number; height: number };

/** Stands where the time line is, whose slider it covers: that is dragged, and has the focus. */
export class Filmstrip {
  #canvas = made("canvas", { class: "rb-film-strip", "aria-hidden": "true" });
  #shades = [made("div", { class: "rb-shade" }), made("div", { class: "rb-shade" })];
  #needle = made("div", { class: "rb-needle" });
  #handles = [this.#handle(0, "Begin of the range"), this.#handle(1, "End of the range")];
  #view = made("canvas");
  #words = made("span");
  #bubble = made("div", { class: "rb-bubble", hidden: "", "aria-hidden": "true" }, this.#view, this.#words);
  #sizes = new ResizeObserver(() => this.#draw());
  #hovered: Frames | null = null;
  #wanted = -1;
  #stills: Still[] = [];

  /** @param images Stills with their numbers. */
  constructor(
    readonly line: HTMLElement,
    readonly clock: Clock,
    readonly clip: Clip,
    readonly file: Source,
    images: HTMLImageElement[],
  ) {
    line.classList.add("rb-strip-line");
    line.prepend(this.#canvas, ...this.#shades, this.#needle);
    line.append(...this.#handles, this.#bubble);
    const shape = clip.box.clientWidth / (clip.box.clientHeight || 1) || 16 / 9;
    [this.#view.width, this.#view.height] =
      shape > 1 ? [BUBBLE, Math.round(BUBBLE / shape)] : [Math.round(BUBBLE * shape), BUBBLE];
    this.#use(
      images.map((image) => ({
        number: Number(image.dataset.number),
        source: image,
        left: 0,
        width: image.naturalWidth || image.width,
        height: image.naturalHeight || image.height,
      })),
    );
    this.#sizes.observe(line);
    line.addEventListener("pointermove", (event) => {
      if (event.pointerType !== "touch") this.#hover(event.clientX);
    });
    line.addEventListener("pointerleave", () => this.#hide());
    clock.addEventListener("frame", () => this.#place());
    clock.addEventListener("change", () => this.#place());
    this.#place();
  }

  /** Use sharper stills from the kernel. */
  async improve(found: { message: any; buffers: any[] } | null) {
    if (!found?.buffers.length) return;
    const { numbers, size } = found.message;
    const sheet = await createImageBitmap(new Blob([found.buffers[0]], { type: "image/jpeg" })).catch(() => null);
    if (sheet)
      this.#use(
        numbers.map((number: number, place: number) => ({
          number,
          source: sheet,
          left: place * size[0],
          width: size[0],
          height: size[1],
        })),
      );
  }

  close() {
    this.#sizes.disconnect();
    this.#hovered?.close();
  }

  #use(stills: Still[]) {
    this.#stills = stills;
    this.#draw();
  }

  /** The still whose frame is nearest. */
  #nearest(number: number) {
    return this.#stills.reduce((best, one) =>
      Math.abs(one.number - number) < Math.abs(best.number - number) ? one : best,
    );
  }

  /** Cells of the clip's shape side by side, each with the still nearest to its middle. */
  #draw() {
    const { clientWidth: width, clientHeight: height } = this.line;
    if (!width || !this.#stills.length) return;
    const sharp = Math.min(devicePixelRatio || 1, 2);
    [this.#canvas.width, this.#canvas.height] = [width * sharp, height * sharp];
    const context = this.#canvas.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    context.imageSmoothingQuality = "high";
    const shape = this.#stills[0].width / this.#stills[0].height;
    const count = Math.max(1, Math.round(width / (height * shape)));
    const each = this.#canvas.width / count;
    for (let cell = 0; cell < count; cell += 1) {
      const still = this.#nearest(((cell + 0.5) / count) * this.clock.frames - 0.5);
      // The cell is a little wider or narrower than the still, whose edges are then left out.
      const wide = Math.min(still.width, (still.height * each) / this.#canvas.height);
      const high = Math.min(still.height, (still.width * this.#canvas.height) / each);
      context.drawImage(
        still.source,
        still.left + (still.width - wide) / 2,
        (still.height - high) / 2,
        wide,
        high,
        Math.round(cell * each),
        0,
        Math.ceil(each),
        this.#canvas.height,
      );
    }
    this.#place();
  }

  #left(frame: number) {
    return `calc(${EDGE_PIXELS}px + (100% - ${2 * EDGE_PIXELS}px) * ${this.clock.shareOf(frame)})`;
  }

  /** @param x In the window. */
  #frameAt(x: number) {
    const edge = this.line.getBoundingClientRect();
    const share = (x - edge.left - EDGE_PIXELS) / (edge.width - 2 * EDGE_PIXELS);
    return within(Math.round(share * (this.clock.frames - 1)), 0, this.clock.frames - 1);
  }

  #range() {
    return this.clock.range ?? ([0, this.clock.frames - 1] as [number, number]);
  }

  #place() {
    const range = this.#range();
    this.#needle.style.left = this.#left(this.clock.frame);
    this.#shades[0].style.width = this.#left(range[0]);
    this.#shades[1].style.left = this.#left(range[1]);
    this.#handles.forEach((handle, side) => {
      handle.style.left = this.#left(range[side]);
      handle.setAttribute("aria-valuenow", String(range[side] + 1));
      handle.setAttribute("aria-valuemin", "1");
      handle.setAttribute("aria-valuemax", String(this.clock.frames));
      handle.setAttribute("aria-valuetext", `frame ${range[side] + 1} of ${this.clock.frames}`);
    });
  }

  #move(side: 0 | 1, frame: number) {
    if (this.clock.frames < 2) return;
    const range = [...this.#range()];
    range[side] = side ? within(frame, range[0] + 1, this.clock.frames - 1) : within(frame, 0, range[1] - 1);
    this.clock.range = range as [number, number];
    this.clock.seek(range[side]);
  }

  #handle(side: 0 | 1, label: string) {
    const handle = made("div", {
      class: "rb-handle",
      role: "slider",
      tabindex: "0",
      "aria-label": label,
      "data-side": String(side),
      title: `${label} (${"[]"[side]})`,
    });
    handle.addEventListener("pointerdown", (down) => {
      down.preventDefault();
      handle.focus();
      handle.setPointerCapture(down.pointerId);
      const move = (event: PointerEvent) => this.#move(side, this.#frameAt(event.clientX));
      handle.addEventListener("pointermove", move);
      const end = () => handle.removeEventListener("pointermove", move);
      handle.addEventListener("pointerup", end, { once: true });
      handle.addEventListener("pointercancel", end, { once: true });
    });
    handle.addEventListener("keydown", (event) => {
      const far = event.shiftKey ? 10 : 1;
      const range = this.#range();
      const to = (frame: number) => () => this.#move(side, frame);
      answerKey(event, {
        ArrowLeft: to(range[side] - far),
        ArrowRight: to(range[side] + far),
        Home: to(0),
        End: to(this.clock.frames - 1),
      });
    });
    return handle;
  }

  /** The frame under the pointer: at once as the nearest still, then itself. */
  async #hover(x: number) {
    const number = this.#frameAt(x);
    const { clientWidth: width } = this.line;
    const from = within(
      x - this.line.getBoundingClientRect().left,
      this.#view.width / 2,
      Math.max(width - this.#view.width / 2, this.#view.width / 2),
    );
    this.#bubble.hidden = false;
    this.#bubble.style.left = `${from}px`;
    if (number === this.#wanted) return;
    this.#wanted = number;
    const still = this.#nearest(number);
    const context = this.#view.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(
      still.source,
      still.left,
      0,
      still.width,
      still.height,
      0,
      0,
      this.#view.width,
      this.#view.height,
    );
    this.#words.textContent = `${number + 1} · ${(number / this.clip.rate).toFixed(2)} s`;
    delete this.#bubble.dataset.number;
    if (!canDecode() || !this.file.index || !this.file.bytes) return;
    this.#hovered ??= new Frames(pageFrames(), this.file.index, this.file.bytes);
    const frame = await this.#hovered.want(number).catch(() => null);
    if (!frame || this.#wanted !== number) return;
    drawTurned(context, frame, (this.file.index.rotation ?? 0) / 90);
    this.#bubble.dataset.number = String(number);
  }

  #hide() {
    this.#bubble.hidden = true;
    this.#wanted = -1;
  }
}
