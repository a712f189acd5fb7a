// @ts-check
/** Which runs of a grid are ticked. There are no ticks until a kernel says that it listens, with the event `reelbook:listens`. */

import { made } from "./table_element.js";

/** The ticks of one grid; those of other displays of the same table follow, through the kernel. */
export class Picks {
  isOn = false;
  /** @type {Set<number>} */
  rows = new Set();
  /** @type {Map<number, {box: HTMLInputElement, figure: HTMLElement}>} */
  #boxes = new Map();

  /** @param {import("./grid.js").Grid} grid */
  constructor(grid) {
    this.grid = grid;
    this.count = made("span", { class: "rb-soft", role: "status" });
    this.download = made("button", { type: "button", hidden: "" }, "Copy to a folder");
    this.download.addEventListener("click", () => this.#send("export"));
    this.nodes = [this.count, this.download];
    if (!grid.key) return;
    // Weakly referenced by the window, so that the grid can be collected when its cell is run again.
    const self = new WeakRef(this);
    const listens = (/** @type {Event} */ event) => {
      const here = self.deref();
      if (!here) return removeEventListener("reelbook:listens", listens);
      const { key, rows } = /** @type {CustomEvent} */ (event).detail;
      if (key !== here.grid.key) return undefined;
      here.isOn = true;
      here.rows = new Set(rows);
      return here.draw();
    };
    addEventListener("reelbook:listens", listens);
    const said = (/** @type {Event} */ event) => {
      const here = self.deref();
      if (!here) return removeEventListener("reelbook:said", said);
      const { key, said: words } = /** @type {CustomEvent} */ (event).detail;
      if (key === here.grid.key) here.count.textContent = words;
      return undefined;
    };
    addEventListener("reelbook:said", said);
    grid.root.addEventListener("keydown", (event) => this.#key(event));
    // The kernel's view may have been created before the grid.
    queueMicrotask(() => dispatchEvent(new CustomEvent("reelbook:built", { detail: { key: grid.key } })));
  }

  /** @param {number} row @param {HTMLElement} figure */
  add(row, figure) {
    const label = this.grid.runs.get(row)?.run.label || `row ${row}`;
    const box = /** @type {HTMLInputElement} */ (made("input", { type: "checkbox", class: "rb-pick", hidden: "", "aria-label": `Select ${label}`, title: "Select (X)" }));
    box.addEventListener("change", () => this.set(row, box.checked));
    this.#boxes.set(row, { box, figure });
    figure.querySelector("figcaption")?.prepend(box);
  }

  /** @param {number} row @param {boolean} isPicked */
  set(row, isPicked) {
    if (isPicked) this.rows.add(row);
    else this.rows.delete(row);
    this.draw();
    this.#send("selected");
  }

  draw() {
    for (const [row, { box, figure }] of this.#boxes) {
      box.hidden = !this.isOn;
      box.checked = this.rows.has(row);
      figure.toggleAttribute("data-picked", this.isOn && this.rows.has(row));
    }
    this.count.textContent = this.rows.size ? `${this.rows.size} selected` : "";
    this.download.hidden = !this.rows.size;
  }

  /** @param {string} what */
  #send(what) {
    const rows = [...this.rows].sort((one, other) => one - other);
    dispatchEvent(new CustomEvent("reelbook:selected", { detail: { key: this.grid.key, rows, to: what } }));
  }

  /** X ticks the clip that has the focus, or the large one. @param {KeyboardEvent} event */
  #key(event) {
    if (!this.isOn || event.key.toLowerCase() !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
    const figure = /** @type {HTMLElement} */ (event.target).closest("figure");
    const row = this.grid.held.view === "one" ? this.grid.held.row : figure ? Number(figure.dataset.row) : undefined;
    if (row === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.set(row, !this.rows.has(row));
  }
}
