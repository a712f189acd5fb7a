// @ts-check
/** Entries in order, each with buttons that move, copy and remove it. */
import { made } from "../../../display/assets/table_element.js";
import { specialButton, specialTurn } from "./form_special_parts.js";

/**
 * @typedef {object} SpecialRow
 * @property {HTMLElement} el  What stands in the list.
 * @property {HTMLElement} focus  What is typed into first.
 * @property {() => string} describe  What to call the entry in words.
 * @property {{number: HTMLElement, up: HTMLButtonElement, down: HTMLButtonElement, remove: HTMLButtonElement, copy?: HTMLButtonElement}} [tools]
 */

/**
 * @template {SpecialRow} R
 */
export class SpecialRows {
  /**
   * @param {string} name  What the list holds, for those who hear the page.
   * @param {{changed: (words: string) => void, fallbackFocus: () => HTMLElement, copy?: (row: R) => R, gone?: (row: R) => void, most?: number}} options
   */
  constructor(name, options) {
    this._options = options;
    /** @type {R[]} */
    this.rows = [];
    this.el = made("ol", { class: "rbf-special-rows", role: "list", "aria-label": name });
    this.el.hidden = true;
  }

  /** @param {R} row @param {number} [place] */
  add(row, place = this.rows.length) {
    if (!row.tools) this._equip(row);
    this.rows.splice(place, 0, row);
    this.el.insertBefore(row.el, this.rows[place + 1]?.el ?? null);
    this.number();
  }

  /** Leaves this many entries. @param {number} count */
  cut(count) {
    if (count >= this.rows.length) return;
    for (const row of this.rows.splice(count)) this._drop(row);
    this.number();
  }

  /** Says at each entry where it stands and what its buttons do. */
  number() {
    const last = this.rows.length - 1;
    this.el.hidden = last < 0;
    this.rows.forEach((row, place) => {
      const tools = /** @type {NonNullable<R["tools"]>} */ (row.tools);
      const label = row.describe();
      tools.number.textContent = String(place + 1);
      specialTurn(tools.up, `Move ${label} up`, place > 0);
      specialTurn(tools.down, `Move ${label} down`, place < last);
      specialTurn(tools.remove, `Remove ${label}`, true);
      if (tools.copy) specialTurn(tools.copy, `Duplicate ${label}`, this.rows.length < (this._options.most ?? Infinity));
    });
  }

  /** @param {R} row */
  _equip(row) {
    const copy = this._options.copy && specialButton("copy", "", () => this._copy(row));
    row.tools = {
      number: made("span", { class: "rbf-special-row-number", "aria-hidden": "true" }),
      up: specialButton("up", "", () => this._move(row, -1)),
      down: specialButton("down", "", () => this._move(row, 1)),
      remove: specialButton("remove", "", () => this._remove(row)),
      ...(copy ? { copy } : {}),
    };
    row.el.prepend(row.tools.number);
    row.el.append(made("span", { class: "rbf-special-row-tools" }, row.tools.up, row.tools.down, ...(copy ? [copy] : []), row.tools.remove));
    row.el.addEventListener("keydown", (event) => {
      if (!event.altKey || event.ctrlKey || event.metaKey || !["ArrowUp", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      this._move(row, event.key === "ArrowUp" ? -1 : 1);
    });
  }

  /** @param {R} row @param {number} by */
  _move(row, by) {
    const from = this.rows.indexOf(row);
    const to = from + by;
    if (to < 0 || to >= this.rows.length) return;
    const focused = /** @type {HTMLElement} */ (document.activeElement);
    this.rows.splice(to, 0, ...this.rows.splice(from, 1));
    // The other one moves in the page, so that the focus stays where it is.
    const other = this.rows[from];
    if (by < 0) row.el.after(other.el);
    else row.el.before(other.el);
    this.number();
    if (row.el.contains(focused)) row.el.scrollIntoView({ block: "nearest" });
    this._options.changed(`${row.describe()} is now ${to + 1} of ${this.rows.length}.`);
  }

  /** @param {R} row */
  _remove(row) {
    const place = this.rows.indexOf(row);
    const label = row.describe();
    this.rows.splice(place, 1);
    this._drop(row);
    this.number();
    const next = this.rows[Math.min(place, this.rows.length - 1)];
    (next?.tools?.remove ?? this._options.fallbackFocus()).focus();
    this._options.changed(`Removed ${label}; ${this.rows.length} left.`);
  }

  /** @param {R} row */
  _drop(row) {
    row.el.remove();
    this._options.gone?.(row);
  }

  /** @param {R} row */
  _copy(row) {
    const twin = this._options.copy?.(row);
    if (!twin) return;
    this.add(twin, this.rows.indexOf(row) + 1);
    twin.focus.focus();
    this._options.changed(`Duplicated ${row.describe()}; ${this.rows.length} now.`);
  }
}
