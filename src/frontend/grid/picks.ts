/** Which runs of a grid are ticked. There are no ticks until a kernel says that it listens. */

import { made } from "../page/element.ts";
import { onKernel } from "../page/kernel_files.ts";
import { Picked } from "../page/picked.ts";
import type { Grid } from "./grid.ts";

/** The ticks of one grid; other displays of the same table follow. */
export class Picks {
  #boxes: Map<number, { box: HTMLInputElement; figure: HTMLElement }> = new Map();
  #picked = new Picked(this.names, () => this.draw());
  #isGone = false;
  #count = made("span", { class: "rb-soft", role: "status" });
  #copy = made(
    "button",
    {
      type: "button",
      hidden: "",
      title: "Copy the files of the selected runs to a new folder next to the notebook",
      onclick: () => this.#export(),
    },
    "Copy to a folder",
  );
  nodes = [this.#count, this.#copy];

  constructor(
    readonly grid: Grid,
    readonly names: { key: string; group: string },
  ) {
    grid.root.addEventListener("keydown", (event) => this.#key(event));
    onKernel(names.key, ({ said }) => this.#say(said), "said");
    onKernel(
      names.key,
      ({ words }) => {
        this.#isGone = true;
        this.draw();
        this.#say(words);
      },
      "gone",
    );
  }

  add(row: number, figure: HTMLElement) {
    const box = made("input", {
      type: "checkbox",
      class: "rb-pick",
      hidden: "",
      "aria-label": `Select ${this.grid.runs.get(row)?.run.label || `row ${row}`}`,
      title: "Select (X)",
      onchange: () => this.toggle(row),
    });
    this.#boxes.set(row, { box, figure });
    figure.querySelector("figcaption")?.prepend(box);
  }

  toggle(row: number) {
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
    this.#count.textContent = isListening && rows.size ? `${rows.size} selected` : "";
    // Without a kernel nobody copies.
    this.#copy.hidden = !isListening || !rows.size || !this.#picked.key || this.#isGone;
  }

  #export() {
    this.#say("Copying");
    const detail = { key: this.#picked.key, rows: [...this.#picked.rows], to: "export" };
    dispatchEvent(new CustomEvent("reelbook:selected", { detail }));
  }

  #say(words: string) {
    this.#count.textContent = words;
  }

  /** X ticks the clip that has the focus, or the large one. */
  #key(event: KeyboardEvent) {
    if (!this.#picked.isListening || event.key.toLowerCase() !== "x" || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const figure = (event.target as HTMLElement).closest("figure");
    const row = this.grid.held.view === "one" ? this.grid.held.row : figure ? Number(figure.dataset.row) : undefined;
    if (row === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.toggle(row);
  }
}
