// @ts-check
/** Zoom and pan of a picture inside its box, down to single pixels. */

const MAX_ZOOM = 32; // Pixels of the page for one of the picture.
const CRISP_FROM = 2;
const CLICK_DISTANCE = 4;
const PAN_STEP = 40;

/** Scales the content of a box. Dispatches `change` with the scale. */
export class Zoom extends EventTarget {
  #scale = 1; // 1 fits the box.
  #x = 0;
  #y = 0;

  /** @param {HTMLElement} box @param {() => [number, number]} sizeOf The picture's size in its own pixels. @param {() => void} [click] */
  constructor(box, sizeOf, click = () => {}) {
    super();
    this.box = box;
    this.sizeOf = sizeOf;
    this.#drag(click);
    box.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  /** Pixels of the page for one of the picture. */
  get scale() {
    return (this.#scale * this.box.clientWidth) / this.sizeOf()[0];
  }

  get isZoomed() {
    return this.#scale > 1;
  }

  fit() {
    [this.#scale, this.#x, this.#y] = [1, 0, 0];
    this.#apply();
  }

  /** One pixel of the picture for one of the page. */
  full() {
    this.by(1 / this.scale);
  }

  /** Zoom around a point of the box, its middle by default. @param {number} factor @param {number} [x] @param {number} [y] */
  by(factor, x = this.box.clientWidth / 2, y = this.box.clientHeight / 2) {
    const most = Math.max(1, (MAX_ZOOM * this.sizeOf()[0]) / (this.box.clientWidth || 1));
    const scale = Math.min(Math.max(this.#scale * factor, 1), most);
    const grown = scale / this.#scale;
    this.#x = x - (x - this.#x) * grown;
    this.#y = y - (y - this.#y) * grown;
    this.#scale = scale;
    this.#apply();
  }

  /** @param {number} right @param {number} down In steps. */
  pan(right, down) {
    this.#x += right * PAN_STEP;
    this.#y += down * PAN_STEP;
    this.#apply();
  }

  #apply() {
    const { clientWidth: width, clientHeight: height } = this.box;
    this.#x = Math.min(0, Math.max(this.#x, width * (1 - this.#scale)));
    this.#y = Math.min(0, Math.max(this.#y, height * (1 - this.#scale)));
    const { style } = this.box;
    style.setProperty("--zoom", this.isZoomed ? `translate(${this.#x}px, ${this.#y}px) scale(${this.#scale})` : "none");
    this.box.toggleAttribute("data-zoomed", this.isZoomed);
    this.box.toggleAttribute("data-crisp", this.isZoomed && this.scale >= CRISP_FROM);
    this.dispatchEvent(new Event("change"));
  }

  /** Only together with Ctrl, as for the page itself; else the page scrolls. @param {WheelEvent} event */
  #wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const edge = this.box.getBoundingClientRect();
    this.by(Math.exp(-event.deltaY / 200), event.clientX - edge.left, event.clientY - edge.top);
  }

  /** @param {() => void} click */
  #drag(click) {
    const box = this.box;
    box.addEventListener("pointerdown", (down) => {
      if (down.button !== 0) return;
      const start = [down.clientX - this.#x, down.clientY - this.#y];
      let isClick = true;
      box.setPointerCapture(down.pointerId);
      const move = (/** @type {PointerEvent} */ event) => {
        if (Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > CLICK_DISTANCE) isClick = false;
        if (isClick || !this.isZoomed) return;
        [this.#x, this.#y] = [event.clientX - start[0], event.clientY - start[1]];
        this.#apply();
      };
      const up = (/** @type {PointerEvent} */ event) => {
        box.removeEventListener("pointermove", move);
        box.removeEventListener("pointerup", up);
        box.removeEventListener("pointercancel", up);
        if (isClick && event.type === "pointerup") click();
      };
      box.addEventListener("pointermove", move);
      box.addEventListener("pointerup", up);
      box.addEventListener("pointercancel", up);
    });
  }
}
