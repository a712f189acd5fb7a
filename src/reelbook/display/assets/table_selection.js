// @ts-check
/** Which rows of a table are ticked: known by their places in the table, so that sorting and filtering leave them. */

import { Picked } from "./picked.js";
import { made } from "./table_element.js";

/** The ticks of one table. There are none until a kernel says that it listens, with the event `reelbook:listens`. */
export class Selection {
  /** @param {import("./table.js").Table} table */
  constructor(table) {
    this.table = table;
    this.picked = new Picked(table.payload, () => this.#redraw());
  }

  get isOn() {
    return this.picked.isListening;
  }

  get rows() {
    return this.picked.rows;
  }

  #redraw() {
    if (!this.isOn) return;
    this.table.redraw();
    this.table.sumUp();
  }

  /** @returns {HTMLElement[]} The head of the column, which ticks all rows that the filter leaves. */
  head() {
    if (!this.isOn) return [];
    const box = this.#box("Select all rows shown", false);
    this.all = box;
    box.addEventListener("change", () => {
      const rows = new Set(this.rows);
      for (const row of this.table.view) box.checked ? rows.add(row) : rows.delete(row);
      this.#change(rows);
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
      const rows = new Set(this.rows);
      box.checked ? rows.add(row) : rows.delete(row);
      this.#change(rows);
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

  /** @param {Set<number>} rows */
  #change(rows) {
    this.picked.set(rows);
    this.table.sumUp();
  }

  #updateAll() {
    if (!this.all) return;
    const count = this.table.view.filter((row) => this.rows.has(row)).length;
    this.all.checked = count > 0 && count === this.table.view.length;
    this.all.indeterminate = count > 0 && !this.all.checked;
  }
}
