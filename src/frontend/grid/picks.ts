/** Which runs of a grid are ticked. There are no ticks until a kernel says that it listens. */

import { isWriting } from "../media/controls.ts";
import { made } from "../page/element.ts";
import { answerKey } from "../page/keys.ts";
import { Picked } from "../page/picked.ts";
import type { Grid } from "./grid.ts";

/** The ticks of one grid; other displays of the same table follow. */
export class Picks {
  #boxes: Map<number, { box: HTMLInputElement; figure: HTMLElement }> = new Map();
  #picked = new Picked(this.names, () => this.draw());
  count = made("span", { class: "rb-soft", role: "status" });

  constructor(
    readonly grid: Grid,
    readonly names: { key: string; group: string },
  ) {
    grid.root.addEventListener("keydown", (event) => this.#key(event));
  }

  add(row: number, figure: HTMLElement) {
    const name = `Select ${this.grid.runs.get(row)?.run.label || `row ${row}`}`;
    const attributes = { type: "checkbox", class: "rb-pick", hidden: "", "aria-label": name, title: "Select (X)" };
    const box = made("input", { ...attributes, onchange: () => this.#toggle(row) });
    this.#boxes.set(row, { box, figure });
    figure.querySelector("figcaption")?.prepend(box);
  }

  #toggle(row: number) {
    this.#picked.toggle(row);
    this.draw();
  }

  draw() {
    const { rows, isListening } = this.#picked;
    for (const [row, { box, figure }] of this.#boxes) {
      box.hidden = !isListening;
      box.checked = rows.has(row);
      figure.toggleAttribute("data-picked", isListening && rows.has(row));
    }
    this.count.textContent = isListening && rows.size ? `${rows.size} selected` : "";
  }

  /** X ticks the clip that has the focus, or the large one. */
  #key(event: KeyboardEvent) {
    const { view, row } = this.grid.held;
    const figure = (event.target as HTMLElement).closest("figure");
    const chosen = view === "one" ? row : figure ? Number(figure.dataset.row) : undefined;
    if (!this.#picked.isListening || chosen === undefined || isWriting(event)) return;
    const tick = () => this.#toggle(chosen);
    answerKey(event, { x: tick });
  }
}
