/** Entries in order, each with buttons that move and remove it. */
import { made } from "../page/element.ts";
import { specialButton, specialTurn } from "./special_parts.ts";

export interface SpecialRow {
  /** What stands in the list. */
  el: HTMLElement;
  /** What is typed into first. */
  focus: HTMLElement;
  /** What to call the entry in words. */
  describe: () => string;
  tools?: {
    number: HTMLElement;
    up: HTMLButtonElement;
    down: HTMLButtonElement;
    remove: HTMLButtonElement;
  };
}

interface RowOptions {
  changed: (words: string) => void;
  fallbackFocus: () => HTMLElement;
}

export class SpecialRows<R extends SpecialRow> {
  _options: RowOptions;
  rows: R[];
  el: HTMLElement;
  /** @param name What the list holds, for those who hear the page. */
  constructor(name: string, options: RowOptions) {
    this._options = options;
    this.rows = [];
    this.el = made("ol", { class: "rbf-special-rows", role: "list", "aria-label": name });
    this.el.hidden = true;
  }

  add(row: R, place: number = this.rows.length) {
    if (!row.tools) this._equip(row);
    this.rows.splice(place, 0, row);
    this.el.insertBefore(row.el, this.rows[place + 1]?.el ?? null);
    this.number();
  }

  /** Leaves this many entries. */
  cut(count: number) {
    if (count >= this.rows.length) return;
    for (const row of this.rows.splice(count)) row.el.remove();
    this.number();
  }

  /** Says at each entry where it stands and what its buttons do. */
  number() {
    const last = this.rows.length - 1;
    this.el.hidden = last < 0;
    this.rows.forEach((row, place) => {
      const tools = row.tools as NonNullable<R["tools"]>;
      const label = row.describe();
      tools.number.textContent = String(place + 1);
      specialTurn(tools.up, `Move ${label} up`, place > 0);
      specialTurn(tools.down, `Move ${label} down`, place < last);
      specialTurn(tools.remove, `Remove ${label}`, true);
    });
  }

  _equip(row: R) {
    row.tools = {
      number: made("span", { class: "rbf-special-row-number", "aria-hidden": "true" }),
      up: specialButton("up", "", () => this._move(row, -1)),
      down: specialButton("down", "", () => this._move(row, 1)),
      remove: specialButton("remove", "", () => this._remove(row)),
    };
    row.el.prepend(row.tools.number);
    row.el.append(made("span", { class: "rbf-special-row-tools" }, row.tools.up, row.tools.down, row.tools.remove));
    row.el.addEventListener("keydown", (event) => {
      if (!event.altKey || event.ctrlKey || event.metaKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      this._move(row, event.key === "ArrowUp" ? -1 : 1);
    });
  }

  _move(row: R, by: number) {
    const from = this.rows.indexOf(row);
    const to = from + by;
    if (to < 0 || to >= this.rows.length) return;
    const focused = document.activeElement as HTMLElement;
    this.rows.splice(to, 0, ...this.rows.splice(from, 1));
    // The other one moves in the page, so that the focus stays where it is.
    const other = this.rows[from];
    if (by < 0) row.el.after(other.el);
    else row.el.before(other.el);
    this.number();
    if (row.el.contains(focused)) row.el.scrollIntoView({ block: "nearest" });
    this._options.changed(`${row.describe()} is now ${to + 1} of ${this.rows.length}.`);
  }

  _remove(row: R) {
    const place = this.rows.indexOf(row);
    const label = row.describe();
    this.rows.splice(place, 1);
    row.el.remove();
    this.number();
    const next = this.rows[Math.min(place, this.rows.length - 1)];
    (next?.tools?.remove ?? this._options.fallbackFocus()).focus();
    this._options.changed(`Removed ${label}; ${this.rows.length} left.`);
  }
}
