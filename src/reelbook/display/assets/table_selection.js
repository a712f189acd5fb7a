// @ts-check
/** Which rows of a table are ticked: known by their places in the table, so that sorting and filtering leave them. */

import { made } from "./table_element.js";

/** The ticks of one table. There are none until a kernel says that it listens, with the event `reelbook:listens`. */
export class Selection {
  /** @param {import("./table.js").Table} table */
  constructor(table) {
    this.table = table;
    this.isOn = false;
    /** @type {Set<number>} */
    this.rows = new Set();
    this.key = table.payload.key;
    if (!this.key) return;
    // Weakly referenced by the window, so that the table can be collected when its cell is run again.
    const self = new WeakRef(this);
    const listens = (/** @type {Event} */ event) => {
      const here = self.deref();
      if (!here) return removeEventListener("reelbook:listens", listens);
      const { key, rows } = /** @type {CustomEvent} */ (event).detail;
      if (key === here.key) here.#begin(rows);
    };
    addEventListener("reelbook:listens", listens);
    // The kernel's view may have been created before the table.
    queueMicrotask(() => dispatchEvent(new CustomEvent("reelbook:built", { detail: { key: this.key } })));
  }

  /** @param {number[]} rows */
  #begin(rows) {
    this.isOn = true;
    this.rows = new Set(rows);
    this.table.redraw();
    this.table.sumUp();
  }

  /** @returns {HTMLElement[]} The head of the column, which ticks all rows that the filter leaves. */
  head() {
    if (!this.isOn) return [];
    const box = this.#box("Select all rows shown", false);
    this.all = box;
    box.addEventListener("change", () => {
      for (const row of this.table.view) box.checked ? this.rows.add(row) : this.rows.delete(row);
      this.#changed();
      this.table.redraw();
      /** @type {HTMLElement | null} */ (this.table.root.querySelector("thead .rb-select input"))?.focus({ preventScroll: true });
    });
    return [made("th", { scope: "col", class: "rb-select" }, box)];
  }

  /** @param {number} row @returns {HTMLElement[]} */
  cell(row) {
    if (!this.isOn) return [];
    const box = this.#box(`Select ${this.table.captions[row] || `row ${row}`}`, this.rows.has(row));
    box.addEventListener("change", () => {
      box.checked ? this.rows.add(row) : this.rows.delete(row);
      this.#changed();
    });
    box.addEventListener("keydown", (event) => this.#move(event, row));
    return [made("td", { class: "rb-select" }, box)];
  }

  /** @returns {string[]} Update the tick of the head; return the number of selected rows, for the line above the table. */
  update() {
    this.#updateAll();
    return this.rows.size ? [`${this.rows.size.toLocaleString("en-US")} selected`] : [];
  }

  /** @param {string} label @param {boolean} isOn */
  #box(label, isOn) {
    const box = /** @type {HTMLInputElement} */ (made("input", { type: "checkbox", "aria-label": label }));
    box.checked = isOn;
    return box;
  }

  /** Up and down go to the tick of the row above or below. @param {KeyboardEvent} event @param {number} row */
  #move(event, row) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const next = step && this.table.view[this.table.view.indexOf(row) + step];
    if (!step || next === undefined) return;
    event.preventDefault();
    /** @type {HTMLElement | null | undefined} */ (this.table.rows.get(Number(next))?.querySelector(".rb-select input"))?.focus();
  }

  #changed() {
    this.table.sumUp();
    dispatchEvent(new CustomEvent("reelbook:selected", { detail: { key: this.key, rows: [...this.rows].sort((a, b) => a - b) } }));
  }

  #updateAll() {
    if (!this.all) return;
    const count = this.table.view.filter((row) => this.rows.has(row)).length;
    this.all.checked = count > 0 && count === this.table.view.length;
    this.all.indeterminate = count > 0 && !this.all.checked;
  }
}
