/**
 * Tables of runs: sorted by a click on a column's name, filtered by words, with only the rows in view on the page.
 *
 * The markup holds the first rows and a payload with all of them. Whatever a cell says becomes text, never markup. A clip
 * that is not in the payload is requested with the event `reelbook:want`; a listener that has it answers.
 */

import { dotted, made } from "../page/element.ts";
import { watchKernel } from "../page/kernel_files.ts";
import { detail, players, sayAbsence, setPoster } from "../page/player.ts";
import { asked, Column, csv, summed, unpacked } from "./query.ts";
import { Posters } from "./row_posters.ts";
import { Selection } from "./selection.ts";

const PLAIN_ROW = 29;
const ROW_SPACE = 9; // Pixels around a poster, the hairline included.
const AHEAD = 6; // Rows beyond the edges that are ready before they are seen.
const SPEAK_EVERY = 1000;
const MAX_CHARS = { right: 16, left: 28, all: 80 };
const MAX_PRINTED = 500;
const SELECT_WIDTH = 32;

/** @param words A state. @returns Its sign, which alone has a colour, and its word. */
function stated(words: string): HTMLElement[] {
  const [, sign = "", word] = /^(\S+ )?(.*)$/s.exec(words) ?? [];
  return [made("bdi", {}, made("span", { class: "rb-sign", "aria-hidden": "true" }, sign), word)];
}

/** One table on the page. */
export class Table {
  columns: Column[] = this.payload.columns.map((packed: any) => new Column(packed));
  captions: string[] = unpacked(this.payload.captions);
  posters = new Posters(this.root, this.payload.posters);
  view: number[] = [];
  rows: Map<number, HTMLElement> = new Map();
  filter = made("input", {
    type: "search",
    placeholder: "Filter: words, seed>3, prompt~fox",
    "aria-label": "Filter rows",
    spellcheck: "false",
    oninput: () => this.update(),
  });
  selection = new Selection(this);
  #files: string[][] = this.payload.files;
  #hasFiles = this.#files.some((files) => files.length);
  #rowHeight = this.#hasFiles ? this.posters.box[1] + ROW_SPACE : PLAIN_ROW;
  /** What is open below the table, and where the focus was before. */
  #players: Map<number, { node: HTMLElement; opener: Element | null }> = new Map();
  #sort: { column: Column | null; direction: number } = { column: null, direction: 1 };
  #box = this.root.querySelector(".rb-box") as HTMLElement;
  #summary = this.root.querySelector(".rb-summary") as HTMLElement;
  #menu = made("div", { class: "rb-menu", hidden: "" });
  #chooser = made(
    "button",
    { type: "button", "aria-expanded": "false", class: "rb-chooser", onclick: () => this.#toggleMenu() },
    "Columns",
  );
  #voice = made("span", { class: "rb-hidden", role: "status" });
  #more = made("span", { class: "rb-further" });
  #stage = made("div", { class: "rb-stage" });
  #head = made("tr");
  #top = made("td");
  #bottom = made("td");
  #above = made("tr", { "aria-hidden": "true", class: "rb-gap" }, this.#top);
  #below = made("tr", { "aria-hidden": "true", class: "rb-gap" }, this.#bottom);
  #body = made("tbody", {}, this.#above, this.#below);
  #widths = made("colgroup");
  #grid = made(
    "table",
    { class: "rb-grid rb-live", style: `--rb-row:${this.#rowHeight}px` },
    this.#widths,
    made("thead", {}, this.#head),
    this.#body,
  );
  #hasKernel = false;
  #waiting: number | undefined;
  #speaking: number | undefined;
  #problems: string[] = [];
  #edges: number[] = [];
  #letter = 0;

  constructor(
    readonly root: HTMLElement,
    readonly payload: any,
  ) {
    const save = made(
      "button",
      { type: "button", title: "Save these rows and columns as CSV", onclick: () => this.#save() },
      "CSV",
    );
    const bar = made("div", { class: "rb-bar" }, this.filter, this.#chooser, save, this.#more);
    this.#summary.before(bar, this.#menu, this.#voice);
    this.#box.after(this.#stage);
    this.#box.replaceChildren(this.#grid);
    this.#buildHead();
    this.#box.addEventListener("scroll", () => this.#soon());
    this.root.addEventListener("keydown", (event) => this.#key(event));
    this.root.querySelector(".rb-first")?.remove();
    new ResizeObserver(() => this.#fit()).observe(this.#box);
    // Weakly referenced by the window, so that the table can be collected when its cell is run again.
    const self = new WeakRef(this);
    addEventListener("beforeprint", () => self.deref()?.draw(MAX_PRINTED));
    this.update();
    watchKernel(payload.key, (isThere) => self.deref()?.onKernel(isThere));
  }

  #visibleColumns() {
    return this.columns.filter((column) => column.isVisible);
  }

  #buildHead() {
    const cells = this.#visibleColumns().map((column) => {
      const isSorted = this.#sort.column === column;
      const arrow = made(
        "span",
        { class: "rb-arrow", "aria-hidden": "true" },
        isSorted ? (this.#sort.direction > 0 ? "▲" : "▼") : "",
      );
      const button = made(
        "button",
        { type: "button", title: column.name, onclick: () => this.#sortBy(column) },
        made("bdi", {}, column.name || "row"),
        arrow,
      );
      const state = isSorted ? (this.#sort.direction > 0 ? "ascending" : "descending") : "none";
      return made("th", { scope: "col", "aria-sort": state, class: column.isRight ? "rb-right" : "" }, button);
    });
    const poster = made("th", { scope: "col" }, made("span", { class: "rb-hidden" }, "poster"));
    this.#head.replaceChildren(
      ...this.selection.head(),
      ...(this.#hasFiles ? [poster] : []),
      ...cells,
      made("td", { class: "rb-fill" }),
    );
  }

  /** @param column Up, down, and then as it was. */
  #sortBy(column: Column) {
    const place = this.#visibleColumns().indexOf(column);
    if (this.#sort.column !== column) this.#sort = { column, direction: 1 };
    else if (this.#sort.direction > 0) this.#sort = { column, direction: -1 };
    else this.#sort = { column: null, direction: 1 };
    this.#buildHead();
    (this.#head.querySelectorAll("button")[place] as HTMLElement | undefined)?.focus({ preventScroll: true });
    this.update();
  }

  #toggleMenu() {
    if (!this.#menu.firstChild) this.#fillMenu();
    this.#menu.hidden = !this.#menu.hidden;
    this.#chooser.setAttribute("aria-expanded", String(!this.#menu.hidden));
  }

  #fillMenu() {
    const boxes = this.columns.map((column) => {
      const choose = () => {
        column.isVisible = box.checked;
        this.redraw();
      };
      const box = made("input", { type: "checkbox", onchange: choose, checked: column.isVisible });
      return made("label", {}, box, made("bdi", {}, column.name || "row"));
    });
    const reset = () => {
      this.columns.forEach((column, place) => {
        column.isVisible = column.isFirst;
        (boxes[place].firstChild as HTMLInputElement).checked = column.isFirst;
      });
      this.redraw();
    };
    this.#menu.append(
      made("div", { class: "rb-choices", role: "group", "aria-label": "Columns" }, ...boxes),
      made("button", { type: "button", onclick: reset }, "Reset"),
    );
  }

  /** Draw it anew, with the same rows. */
  redraw() {
    this.#buildHead();
    // The filter searches visible columns only.
    if (this.filter.value) return this.update();
    this.#clear();
    this.#fit();
  }

  #clear() {
    for (const node of this.rows.values()) node.remove();
    this.rows.clear();
  }

  /** Filter and sort anew. */
  update() {
    const { tests, problems } = asked(this.filter.value, this.columns);
    const all = Array.from({ length: this.payload.rows }, (_, row) => row);
    const matching = all.filter((row) => tests.every((test) => test(row)));
    this.view = this.#sort.column ? this.#sort.column.sorted(matching, this.#sort.direction) : matching;
    const shown = new Set(this.view);
    for (const row of this.#players.keys()) if (!shown.has(row)) this.close(row, false);
    this.#grid.setAttribute("aria-rowcount", String(this.view.length + 1));
    this.#box.scrollTop = 0;
    this.#clear();
    this.#fit();
    this.sumUp(problems);
  }

  sumUp(problems: string[] = this.#problems) {
    this.#problems = problems;
    const line = [summed(this.columns, this.view, this.payload.rows), ...this.selection.update(), ...problems].join(
      " · ",
    );
    this.#summary.replaceChildren(dotted(line));
    clearTimeout(this.#speaking);
    this.#speaking = window.setTimeout(() => {
      this.#voice.textContent = line;
    }, SPEAK_EVERY);
  }

  /** Distribute the width of the box: first the minimum of every column, then the rest to columns with long texts. */
  #fit() {
    const room = this.#box.clientWidth;
    this.root.style.setProperty("--rb-room", `${room}px`);
    const visible = this.#visibleColumns();
    const fixed = [
      ...(this.selection.isOn ? [SELECT_WIDTH] : []),
      ...(this.#hasFiles ? [this.posters.box[0] + 16] : []),
    ];
    const least = visible.map((column) => this.#width(column, false));
    let spare = room - [...fixed, ...least].reduce((a, b) => a + b, 0);
    const widths = least.map((width, place) => {
      const more = Math.max(0, Math.min(spare, this.#width(visible[place], true) - width));
      spare -= more;
      return width + more;
    });
    const columns = [...fixed, ...widths];
    this.#widths.replaceChildren(...columns.map((width) => made("col", { style: `width:${width}px` })), made("col"));
    // The number of clipped columns is displayed, because the scroll bar may be invisible.
    let edge = 0;
    this.#edges = columns.map((width) => (edge += width));
    this.#grid.style.minWidth = `${edge}px`;
    this.draw();
  }

  /** @returns Pixels, by the longest of its words. */
  #width(column: Column, isAll: boolean): number {
    const most = isAll ? MAX_CHARS.all : column.isRight ? MAX_CHARS.right : MAX_CHARS.left;
    return Math.ceil(
      Math.min(most, Math.max(column.longest, Math.min(column.name.length + 2, most), 3)) * this.#measureLetter() + 18,
    );
  }

  /** @returns The width of a digit. */
  #measureLetter() {
    const probe = made("span", { style: "visibility:hidden;position:absolute" }, "0".repeat(20));
    this.root.append(probe);
    this.#letter ||= probe.getBoundingClientRect().width / 20;
    probe.remove();
    return this.#letter || 8;
  }

  #soon() {
    this.#waiting ??= requestAnimationFrame(() => {
      this.#waiting = undefined;
      this.draw();
    });
  }

  /** Put the rows in view onto the page, and take the others off it. */
  draw(least: number = 0) {
    const first = least ? 0 : Math.max(0, Math.floor(this.#box.scrollTop / this.#rowHeight) - AHEAD);
    const last = Math.min(
      this.view.length,
      Math.max(least, first + Math.ceil(this.#box.clientHeight / this.#rowHeight) + 2 * AHEAD),
    );
    const wanted = this.view.slice(first, last);
    const needed = new Set(wanted);
    for (const [row, node] of this.rows) if (!needed.has(row)) this.#drop(row, node);
    let next = this.#above.nextElementSibling;
    wanted.forEach((row, place) => {
      const node = this.rows.get(row) ?? this.#row(row);
      this.rows.set(row, node);
      node.setAttribute("aria-rowindex", String(first + place + 2));
      if (node === next) next = node.nextElementSibling;
      else this.#body.insertBefore(node, next);
    });
    for (const cell of [this.#top, this.#bottom]) cell.colSpan = this.#head.childElementCount;
    this.#top.style.height = `${first * this.#rowHeight}px`;
    this.#bottom.style.height = `${Math.max(0, this.view.length - last) * this.#rowHeight}px`;
    this.#renderMore();
  }

  /** How many columns are further to the right, or cut there. */
  #renderMore() {
    const seen = this.#box.scrollLeft + this.#box.clientWidth + 1;
    const count = this.#edges.filter((edge) => edge > seen).length;
    const words = count ? `${count} more column${count === 1 ? "" : "s"} →` : "";
    if (this.#more.textContent !== words) this.#more.textContent = words;
  }

  #drop(row: number, node: HTMLElement) {
    // If the focus were lost, keys would go to the notebook.
    if (node.contains(document.activeElement)) this.#box.focus({ preventScroll: true });
    node.remove();
    this.rows.delete(row);
  }

  #row(row: number) {
    const cells = this.#visibleColumns().map((column) => this.#cell(column, row));
    return made(
      "tr",
      {},
      ...this.selection.cell(row),
      ...(this.#hasFiles ? [made("td", { class: "rb-first-cell" }, ...this.#poster(row))] : []),
      ...cells,
      made("td", { class: "rb-fill" }),
    );
  }

  #cell(column: Column, row: number) {
    const words = column.words[row];
    const cell = made("td", { class: column.isRight ? "rb-right" : "" });
    if (words === null || words === undefined) cell.append(made("span", { class: "rb-soft" }, "–"));
    else if (column.role === "state" && words.length <= MAX_CHARS.left) cell.append(...stated(words));
    else if (column.isRight || words.length <= MAX_CHARS.left) cell.append(made("bdi", {}, words));
    else {
      const open = {
        type: "button",
        class: "rb-text",
        title: words.slice(0, 600),
        onclick: () => this.open(row, words),
      };
      cell.append(made("button", open, made("bdi", {}, words.slice(0, 200))));
    }
    if (column.role === "state") cell.dataset.state = (column.keys?.[row] ?? "").replaceAll(" ", "-");
    return cell;
  }

  #poster(row: number): HTMLElement[] {
    const files = this.#files[row] ?? [];
    if (!files.length) return [];
    const more = files.length > 1 ? [made("span", { class: "rb-more" }, `×${files.length}`)] : [];
    const [width, height] = this.posters.sizeOf(row);
    const attributes = {
      type: "button",
      class: "rb-poster",
      "aria-expanded": String(this.#players.has(row)),
      style: `width:${width}px;height:${height}px`,
      onclick: () => (this.#players.has(row) ? this.close(row) : this.open(row)),
    };
    const button = made("button", attributes, ...this.posters.picture(row), ...more);
    setPoster(button, this.#canShow(row), files[0], this.captions[row]);
    return [button];
  }

  /** @param row Whether there is more of it to see than its poster. */
  #canShow(row: number) {
    return this.#hasKernel || Boolean(this.payload.clips[row]?.[0]);
  }

  onKernel(isThere: boolean) {
    this.#hasKernel = isThere;
    if (this.#hasFiles) sayAbsence(this.root, isThere || Object.keys(this.payload.clips).length > 0);
    this.rows.forEach((node, row) => {
      const button = node.querySelector(".rb-poster") as HTMLButtonElement | null;
      if (button) setPoster(button, this.#canShow(row), this.#files[row][0], this.captions[row]);
    });
  }

  #save() {
    const text = encodeURIComponent(csv(this.#visibleColumns(), this.view));
    made("a", { href: `data:text/csv;charset=utf-8,${text}`, download: "runs.csv" }).click();
  }

  /** Show the next row that has files in the place of this one. */
  #step(row: number, step: number) {
    let place = this.view.indexOf(row);
    do place += step;
    while (place in this.view && !this.#files[this.view[place]].length);
    const next = this.view[place];
    if (next === undefined) return;
    this.close(row);
    this.#box.scrollTop = place * this.#rowHeight - this.#box.clientHeight / 2;
    this.draw();
    this.open(next);
    this.rows.get(next)?.querySelector<HTMLElement>(".rb-poster")?.focus({ preventScroll: true });
  }

  /** @param words Show its files below the table, and a text where one was asked for. */
  open(row: number, words: string = "") {
    const before = this.#players.get(row);
    const label = this.captions[row];
    const node = detail(label, players(this, { at: row, row, files: this.#files[row] ?? [], label }), () =>
      this.close(row),
    );
    if (words) node.append(made("div", { class: "rb-words", tabindex: "0" }, made("bdi", {}, words)));
    this.#players.set(row, { node, opener: document.activeElement });
    if (before) before.node.replaceWith(node);
    else this.#stage.append(node);
    this.rows.get(row)?.querySelector(".rb-poster")?.setAttribute("aria-expanded", "true");
    this.#share();
    node.scrollIntoView?.({ block: "nearest" });
  }

  /** Two or more stand beside each other. */
  #share() {
    this.#stage.toggleAttribute("data-many", this.#players.size > 1);
  }

  /** @param row Take the players of a row away, and give the focus back. */
  close(row: number, withFocus: boolean = true) {
    const poster = this.rows.get(row)?.querySelector(".rb-poster") as HTMLElement | null | undefined;
    const opener = this.#players.get(row)?.opener as HTMLElement | null | undefined;
    this.#players.get(row)?.node.remove();
    this.#players.delete(row);
    poster?.setAttribute("aria-expanded", "false");
    if (withFocus)
      (this.#box.contains(opener ?? null) ? opener : (poster ?? this.#box))?.focus({ preventScroll: true });
    this.#share();
  }

  #key(event: KeyboardEvent) {
    event.stopPropagation();
    const step = { ArrowDown: 1, ArrowUp: -1, Escape: 0 }[event.key];
    if (step === undefined) return;
    const target = event.target as HTMLElement;
    for (const [row, { node }] of this.#players) {
      const poster = this.rows.get(row)?.querySelector(".rb-poster");
      if (step && (target === poster || (node.contains(target) && !target.closest(".rb-words")))) {
        event.preventDefault();
        return this.#step(row, step);
      }
      if (!step && (node.contains(target) || this.rows.get(row)?.contains(target))) return this.close(row);
    }
    if (step) return;
    if (!this.#menu.hidden && (target === this.#chooser || this.#menu.contains(target))) {
      this.#toggleMenu();
      this.#chooser.focus();
    } else if (target === this.filter && this.filter.value) {
      this.filter.value = "";
      this.update();
    }
  }
}

for (const root of document.querySelectorAll<HTMLElement>("[data-rb-table]:not([data-rb-live])")) {
  const payload = root.querySelector('script[type="application/json"]');
  if (!payload) continue;
  root.dataset.rbLive = "";
  new Table(root, JSON.parse(payload.textContent ?? "{}"));
}
