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

  /** One pointer moves what is enlarged, and clicks; two pinch. @param {() => void} click */
  #drag(click) {
    const box = this.box;
    /** Where each pointer is in the box. @type {Map<number, number[]>} */
    const held = new Map();
    let [far, isClick] = [0, false];
    const at = (/** @type {PointerEvent} */ event) => {
      const { left, top } = box.getBoundingClientRect();
      return [event.clientX - left, event.clientY - top];
    };
    /** The middle of all pointers, and how far two are apart. */
    const spread = () => {
      const points = [...held.values()];
      const [one, other = one] = points;
      return { middle: [0, 1].map((axis) => points.reduce((sum, point) => sum + point[axis], 0) / points.length), apart: Math.hypot(one[0] - other[0], one[1] - other[1]) };
    };
    box.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      [far, isClick] = [0, held.size === 0];
      held.set(event.pointerId, at(event));
      box.setPointerCapture(event.pointerId);
    });
    box.addEventListener("pointermove", (event) => {
      const last = held.get(event.pointerId);
      if (!last) return;
      const [now, before] = [at(event), spread()];
      held.set(event.pointerId, now);
      far += Math.hypot(now[0] - last[0], now[1] - last[1]);
      if (far > CLICK_DISTANCE) isClick = false;
      const { middle, apart } = spread();
      if (before.apart) this.by(apart / before.apart, before.middle[0], before.middle[1]);
      if (isClick || !this.isZoomed) return;
      this.#x += middle[0] - before.middle[0];
      this.#y += middle[1] - before.middle[1];
      this.#apply();
    });
    for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) {
      box.addEventListener(name, (event) => {
        if (held.delete(event.pointerId) && isClick && name === "pointerup") click();
      });
    }
  }
}
