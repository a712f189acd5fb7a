/** Which rows of a table are ticked: known by their places in the table, so that sorting and filtering leave them. */

import { made } from "../page/element.ts";
import { Picked } from "../page/picked.ts";
import type { Table } from "./table.ts";

/** The ticks of one table. There are none until a kernel says that it listens, with the event `reelbook:listens`. */
export class Selection {
  #picked: Picked;
  #all: HTMLInputElement | undefined;

  constructor(readonly table: Table) {
    this.#picked = new Picked(table.payload, () => this.#redraw());
  }

  get isOn() {
    return this.#picked.isListening;
  }

  #redraw() {
    if (!this.isOn) return;
    this.table.redraw();
    this.table.sumUp();
  }

  /** @returns The head of the column, which ticks all rows that the filter leaves. */
  head(): HTMLElement[] {
    if (!this.isOn) return [];
    const tickAll = () => {
      this.#tick(this.table.view, box.checked);
      this.table.redraw();
      this.table.root.querySelector<HTMLElement>("thead .rb-select input")?.focus({ preventScroll: true });
    };
    const box = made("input", { type: "checkbox", "aria-label": "Select all rows shown", onchange: tickAll });
    this.#all = box;
    return [made("th", { scope: "col", class: "rb-select" }, box)];
  }

  cell(row: number): HTMLElement[] {
    if (!this.isOn) return [];
    const box = made("input", {
      type: "checkbox",
      "aria-label": `Select ${this.table.captions[row] || `row ${row}`}`,
      checked: this.#picked.rows.has(row),
      onchange: () => this.#tick([row], box.checked),
      onkeydown: (event: KeyboardEvent) => this.#move(event, row),
    });
    return [made("td", { class: "rb-select" }, box)];
  }

  /** @returns Update the tick of the head; return the number of selected rows, for the line above the table. */
  update(): string[] {
    const { rows } = this.#picked;
    const count = this.table.view.filter((row) => rows.has(row)).length;
    if (this.#all) {
      this.#all.checked = count > 0 && count === this.table.view.length;
      this.#all.indeterminate = count > 0 && !this.#all.checked;
    }
    return rows.size ? [`${rows.size.toLocaleString("en-US")} selected`] : [];
  }

  /** Up and down go to the tick of the row above or below. */
  #move(event: KeyboardEvent, row: number) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const next = step && this.table.view[this.table.view.indexOf(row) + step];
    if (!step || next === undefined) return;
    event.preventDefault();
    this.table.rows.get(Number(next))?.querySelector<HTMLElement>(".rb-select input")?.focus();
  }

  #tick(rows: number[], isOn: boolean) {
    const ticked = new Set(this.#picked.rows);
    for (const row of rows) isOn ? ticked.add(row) : ticked.delete(row);
    this.#picked.set(ticked);
    this.table.sumUp();
  }
}
