/** Which rows of a table are ticked: known by their places in the table, so that sorting and filtering leave them. */

import { made } from "../page/element.ts";
import { Picked } from "../page/picked.ts";
import type { Table } from "./table.ts";

/** The ticks of one table. There are none until a kernel says that it listens, with the event `reelbook:listens`. */
export class Selection {
  table: Table;
  picked: Picked;
  all: HTMLInputElement | undefined;

  constructor(table: Table) {
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

  /** @returns The head of the column, which ticks all rows that the filter leaves. */
  head(): HTMLElement[] {
    if (!this.isOn) return [];
    const box = this.#box("Select all rows shown", false);
    this.all = box;
    box.addEventListener("change", () => {
      const rows = new Set(this.rows);
      for (const row of this.table.view) box.checked ? rows.add(row) : rows.delete(row);
      this.#change(rows);
      this.table.redraw();
      (this.table.root.querySelector("thead .rb-select input") as HTMLElement | null)?.focus({ preventScroll: true });
    });
    return [made("th", { scope: "col", class: "rb-select" }, box)];
  }

  cell(row: number): HTMLElement[] {
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

  /** @returns Update the tick of the head; return the number of selected rows, for the line above the table. */
  update(): string[] {
    this.#updateAll();
    return this.rows.size ? [`${this.rows.size.toLocaleString("en-US")} selected`] : [];
  }

  #box(label: string, isOn: boolean) {
    const box = made("input", { type: "checkbox", "aria-label": label });
    box.checked = isOn;
    return box;
  }

  /** Up and down go to the tick of the row above or below. */
  #move(event: KeyboardEvent, row: number) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const next = step && this.table.view[this.table.view.indexOf(row) + step];
    if (!step || next === undefined) return;
    event.preventDefault();
    (this.table.rows.get(Number(next))?.querySelector(".rb-select input") as HTMLElement | null | undefined)?.focus();
  }

  #change(rows: Set<number>) {
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
