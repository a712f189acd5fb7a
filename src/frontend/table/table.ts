/**
 * Tables of runs: sorted by a click on a column's name, filtered by words, in groups; more rows come as somebody scrolls on.
 * A row opens below itself, and a poster plays while a pointer is over it.
 *
 * The markup holds the first rows and a payload with all of them. Whatever a cell says becomes text, never markup. A clip
 * that is not in the payload is requested with the event `reelbook:want`; a listener that has it answers. Rows are ticked
 * where a kernel says that it listens.
 */

import { copyText } from "../page/copy.ts";
import { answerKey, button, choose, made, payloadOf } from "../page/element.ts";
import { watchKernel } from "../page/kernel_files.ts";
import { Picked } from "../page/picked.ts";
import { detail, Posters, players, playOver, sayAbsence, setPoster, wantedOf } from "../page/player.ts";
import { asked, Column, separated, summed, unpacked } from "./query.ts";

const ROWS = 100; // That are drawn at once.
const AHEAD = 600; // Pixels below the rows in view that are drawn before they are seen.
const MAX_CHARS = 28;
const SPEAK_EVERY = 1000;
const MAX_GROUPS = 50;
const LARGE = 2; // Times the size of a small poster.

/** One table on the page. */
class Table {
  payload = payloadOf(this.root);
  posters = new Posters(this.root, this.payload.posters);
  #columns: Column[] = this.payload.columns.map((packed: any) => new Column(packed));
  #visible = this.#columns.filter((column) => column.isVisible);
  #captions: string[] = unpacked(this.payload.captions);
  #files: string[][] = this.payload.files;
  #hasFiles = this.#files.some((files) => files.length);
  /** The rows that the filter leaves, in their order, and those of them that are on the page. */
  #view: number[] = [];
  #rows: Map<number, HTMLElement> = new Map();
  #sort: { column: Column | null; direction: number } = { column: null, direction: 1 };
  #group: Column | null = null;
  #scale = 1;
  #picked = new Picked(this.payload, () => this.#mark());
  /** The row that is open, and the line below it. */
  #open: { row: number; line: HTMLElement } | null = null;
  #hasKernel = false;
  #speaking = 0;
  #filter = made("input", {
    type: "search",
    placeholder: "Filter: words, seed>3, prompt~fox",
    "aria-label": "Filter rows",
    spellcheck: "false",
    oninput: () => this.#update(),
  });
  #voice = made("span", { class: "rb-hidden", role: "status" });
  #all = made("input", {
    type: "checkbox",
    "aria-label": "Select all rows shown",
    onchange: () => this.#tick(this.#view, this.#all.checked),
  });
  #box = this.root.querySelector(".rb-box") as HTMLElement;
  #summary = this.root.querySelector(".rb-summary") as HTMLElement;
  /** What Python says of all rows. */
  #whole = [...this.#summary.childNodes];
  #head = made("tr");
  #body = made("tbody");
  #grid = made("table", { class: "rb-grid rb-live" }, made("thead", {}, this.#head), this.#body);

  constructor(readonly root: HTMLElement) {
    root.dataset.rbLive = "";
    const copy = button("Copy", () => copyText(copy, separated(this.#visible, this.#view, "\t")), {
      title: "Copy these rows and columns, for a spreadsheet",
    });
    const save = button("CSV", () => this.#save(), { title: "Save these rows and columns as CSV" });
    const large = button("Large posters", () => this.#resize(large), { "aria-pressed": "false" });
    const tools = [this.#filter, this.#groups(), this.#hasFiles ? large : null, copy, save];
    this.#summary.before(made("div", { class: "rb-bar" }, ...tools), this.#voice);
    this.#box.replaceChildren(this.#grid);
    this.#box.addEventListener("scroll", () => this.#drawOn());
    root.addEventListener("keydown", (event) => this.#key(event));
    root.querySelector(".rb-first")?.remove();
    new ResizeObserver(() => this.#drawOn()).observe(this.#box);
    this.#drawHead();
    this.#update();
    watchKernel(this.payload.key, (isThere) => this.#onKernel(isThere));
  }

  /** A list of the columns whose values some rows have in common. */
  #groups() {
    const shared = this.#visible.filter(({ words }) => {
      const count = new Set(words).size;
      return count > 1 && count <= MAX_GROUPS && count < words.length;
    });
    if (!shared.length) return null;
    const options = shared.map(({ name }, place): [number, string] => [place, `by ${name || "row"}`]);
    return choose("Group by", [["", "No groups"], ...options], "", (place) => {
      this.#group = place === "" ? null : shared[Number(place)];
      this.#update();
    });
  }

  #resize(large: HTMLElement) {
    this.#scale = this.#scale === 1 ? LARGE : 1;
    large.setAttribute("aria-pressed", String(this.#scale !== 1));
    this.#draw();
  }

  #drawHead() {
    const cells = this.#visible.map((column) => {
      const direction = this.#sort.column === column ? this.#sort.direction : 0;
      const name = button(made("bdi", {}, column.name || "row"), () => this.#sortBy(column), { title: column.name });
      const arrow = direction ? (direction > 0 ? "▲" : "▼") : "";
      name.append(made("span", { class: "rb-arrow", "aria-hidden": "true" }, arrow));
      const sort = direction ? (direction > 0 ? "ascending" : "descending") : "none";
      return made("th", { scope: "col", "aria-sort": sort, class: column.isRight ? "rb-right" : "" }, name);
    });
    const poster = made("th", { scope: "col" }, made("span", { class: "rb-hidden" }, "poster"));
    this.#head.replaceChildren(
      made("th", { scope: "col", class: "rb-select" }, this.#all),
      ...(this.#hasFiles ? [poster] : []),
      ...cells,
      made("td", { class: "rb-fill" }),
    );
  }

  /** Up, down, and then as it was. */
  #sortBy(column: Column) {
    const { column: before, direction } = this.#sort;
    const isEnd = before === column && direction < 0;
    this.#sort = { column: isEnd ? null : column, direction: before === column ? -direction : 1 };
    this.#drawHead();
    const heads = this.#head.querySelectorAll<HTMLElement>("th button");
    heads[this.#visible.indexOf(column)]?.focus({ preventScroll: true });
    this.#update();
  }

  #draw() {
    // If the focus were lost, keys would go to the notebook.
    if (this.#body.contains(document.activeElement)) this.#box.focus({ preventScroll: true });
    this.#close();
    this.#body.replaceChildren();
    this.#rows.clear();
    this.#drawOn();
    this.#mark();
  }

  /** Filter and sort. */
  #update() {
    const tests = asked(this.#filter.value, this.#columns, this.#captions);
    const all = Array.from({ length: this.payload.rows }, (_, row) => row);
    const matching = all.filter((row) => tests.every((test) => test(row)));
    const sorted = this.#sort.column ? this.#sort.column.sorted(matching, this.#sort.direction) : matching;
    this.#view = this.#group ? this.#group.grouped(sorted) : sorted;
    this.#grid.setAttribute("aria-rowcount", String(this.#view.length + 1));
    this.#box.scrollTop = 0;
    this.#draw();
  }

  /** Show which rows are ticked, and say what the rows in view come to. */
  #mark() {
    const { rows, isListening } = this.#picked;
    this.root.toggleAttribute("data-ticks", isListening);
    for (const [row, node] of this.#rows) {
      const box = node.querySelector<HTMLInputElement>(".rb-select input");
      if (box) box.checked = rows.has(row);
    }
    const count = this.#view.filter((row) => rows.has(row)).length;
    this.#all.checked = count > 0 && count === this.#view.length;
    this.#all.indeterminate = count > 0 && !this.#all.checked;
    const isWhole = this.#view.length === this.payload.rows;
    const ticked = rows.size && isListening ? ` · ${rows.size.toLocaleString("en-US")} selected` : "";
    const words = isWhole ? this.#whole : [summed(this.#columns, this.#view, this.payload.rows)];
    this.#summary.replaceChildren(...words, ticked);
    clearTimeout(this.#speaking);
    this.#speaking = window.setTimeout(() => {
      this.#voice.textContent = this.#summary.textContent;
    }, SPEAK_EVERY);
  }

  /** Put more rows onto the page while somebody scrolls on. */
  #drawOn(least: number = ROWS) {
    const { scrollTop, clientHeight, clientWidth, scrollHeight } = this.#box;
    this.#box.style.setProperty("--rb-room", `${clientWidth}px`);
    const isNear = scrollTop + clientHeight > scrollHeight - AHEAD;
    const count = Math.max(least, this.#rows.size + (isNear ? ROWS : 0));
    for (const row of this.#view.slice(this.#rows.size, count)) {
      const node = this.#makeRow(row);
      node.setAttribute("aria-rowindex", String(this.#rows.size + 2));
      this.#nameGroup(row);
      this.#rows.set(row, node);
      this.#body.append(node);
    }
  }

  /** Put a heading above the first row of a group: its value, and what its rows come to. */
  #nameGroup(row: number) {
    if (!this.#group) return;
    const { words, name } = this.#group;
    const before = this.#view[this.#rows.size - 1];
    if (before !== undefined && words[before] === words[row]) return;
    const rows = this.#view.filter((other) => words[other] === words[row]);
    const line = `${name || "row"} ${words[row] ?? "–"} · ${summed(this.#columns, rows)}`;
    this.#body.append(made("tr", { class: "rb-heading" }, this.#wide("th", made("div", {}, made("bdi", {}, line)))));
  }

  /** A cell as wide as the table, with something that stays in view. */
  #wide(tag: "th" | "td", content: HTMLElement) {
    const span = this.#head.children.length;
    return made(tag, { colspan: span, ...(tag === "th" ? { scope: "rowgroup" } : {}) }, content);
  }

  #makeRow(row: number) {
    const tick = made("input", {
      type: "checkbox",
      "aria-label": `Select ${this.#captions[row] || `row ${row}`}`,
      checked: this.#picked.rows.has(row),
      onchange: () => this.#tick([row], tick.checked),
    });
    return made(
      "tr",
      {},
      made("td", { class: "rb-select" }, tick),
      this.#hasFiles ? made("td", { class: "rb-first-cell" }, this.#makePoster(row)) : null,
      ...this.#visible.map((column) => this.#makeCell(column, row)),
      made("td", { class: "rb-fill" }),
    );
  }

  #makeCell(column: Column, row: number) {
    const words = column.words[row];
    const cell = made("td", { class: column.isRight ? "rb-right" : "" });
    if (words === null || words === undefined) cell.append(made("span", { class: "rb-soft" }, "–"));
    else if (!column.isRight && words.length > MAX_CHARS) {
      const name = made("summary", {}, made("bdi", {}, words.slice(0, 200)));
      cell.append(made("details", { class: "rb-text", title: words.slice(0, 600) }, name, made("bdi", {}, words)));
    } else if (column.role === "state") {
      // The sign alone has a colour.
      const [, sign = "", word] = /^(\S+ )?(.*)$/s.exec(words) ?? [];
      cell.dataset.state = word.replaceAll(" ", "-");
      cell.append(made("bdi", {}, made("span", { class: "rb-sign", "aria-hidden": "true" }, sign), word));
    } else cell.append(made("bdi", {}, words));
    return cell;
  }

  #makePoster(row: number) {
    const files = this.#files[row] ?? [];
    if (!files.length) return null;
    const [width, height] = this.posters.sizeOf(row).map((side) => side * this.#scale);
    const press = () => (this.#open?.row === row ? this.#leave() : this.#show(row));
    const [picture] = this.posters.picture(row);
    const poster = button(picture, press, { class: "rb-poster", style: `width:${width}px;height:${height}px` });
    poster.setAttribute("aria-expanded", "false");
    if (files.length > 1) poster.append(made("span", { class: "rb-more" }, `×${files.length}`));
    this.#setPoster(poster, row);
    playOver(poster, wantedOf(this, { at: row, row, files, label: this.#captions[row] }, 0));
    return poster;
  }

  #posterOf(row: number) {
    return this.#rows.get(row)?.querySelector<HTMLButtonElement>(".rb-poster");
  }

  /** A poster can be pressed while there is more of its row to see. */
  #setPoster(poster: HTMLButtonElement, row: number) {
    const isThere = this.#hasKernel || Boolean(this.payload.clips[row]?.[0]);
    setPoster(poster, isThere, this.#files[row][0], this.#captions[row]);
  }

  #onKernel(isThere: boolean) {
    this.#hasKernel = isThere;
    if (this.#hasFiles) sayAbsence(this.root, isThere || Object.keys(this.payload.clips).length > 0);
    for (const row of this.#rows.keys()) {
      const poster = this.#posterOf(row);
      if (poster) this.#setPoster(poster, row);
    }
  }

  #tick(rows: number[], isOn: boolean) {
    const ticked = new Set(this.#picked.rows);
    for (const row of rows) isOn ? ticked.add(row) : ticked.delete(row);
    this.#picked.set(ticked);
  }

  #save() {
    const text = encodeURIComponent(separated(this.#visible, this.#view, ","));
    made("a", { href: `data:text/csv;charset=utf-8,${text}`, download: "runs.csv" }).click();
  }

  /** Show the files of a row below it. */
  #show(row: number) {
    this.#close();
    const label = this.#captions[row];
    const files = players(this, { at: row, row, files: this.#files[row] ?? [], label });
    const node = detail(label, files, () => this.#leave());
    const line = made("tr", { class: "rb-stage" }, this.#wide("td", node));
    this.#open = { row, line };
    this.#rows.get(row)?.after(line);
    this.#posterOf(row)?.setAttribute("aria-expanded", "true");
    line.scrollIntoView?.({ block: "nearest" });
    this.#rows.get(row)?.scrollIntoView?.({ block: "nearest" });
  }

  #close() {
    if (!this.#open) return;
    this.#open.line.remove();
    this.#posterOf(this.#open.row)?.setAttribute("aria-expanded", "false");
    this.#open = null;
  }

  /** Close the open row, and give the focus back to it. */
  #leave() {
    const row = this.#rows.get(this.#open?.row ?? -1);
    this.#close();
    (row?.querySelector("button") ?? this.#box).focus({ preventScroll: true });
  }

  /** Show the next row that has files in the place of this one. */
  #step(row: number, step: number) {
    let place = this.#view.indexOf(row);
    do place += step;
    while (place in this.#view && !this.#files[this.#view[place]].length);
    const next = this.#view[place];
    if (next === undefined) return;
    this.#drawOn(place + 1);
    this.#show(next);
    this.#posterOf(next)?.focus({ preventScroll: true });
  }

  #key(event: KeyboardEvent) {
    const target = event.target as HTMLElement;
    event.stopPropagation();
    if (!this.#open) return;
    const { row, line } = this.#open;
    if (!line.contains(target) && !this.#rows.get(row)?.contains(target)) return;
    answerKey(event, {
      Escape: () => this.#leave(),
      ArrowDown: () => this.#step(row, 1),
      ArrowUp: () => this.#step(row, -1),
    });
  }
}

for (const root of document.querySelectorAll<HTMLElement>("[data-rb-table]:not([data-rb-live])"))
  if (root.querySelector('script[type="application/json"]')) new Table(root);
