// @ts-check
/**
 * Clips of a table of runs on one clock: all of them in a grid, or one at a time with a control for every axis.
 *
 * The markup has the posters and what each clip is; files that are not in the page come from the kernel. What somebody has
 * set is held for the page, so that an output which is updated goes on where it was.
 */

import { Clock, watchPage, watchView } from "./clock.js";
import { Clip } from "./clock_clip.js";
import { buttons, keys } from "./clock_controls.js";
import { Stage } from "./grid_stage.js";
import { Picks } from "./grid_picks.js";
import { ASK_AGAIN, bringFile, onKernel } from "./kernel_files.js";
import { made } from "./table_element.js";

/** @typedef {{row: number, codes: number[], name: string, label: string, price: string, state: string}} Run */
/** @typedef {{model: string, axes: {name: string, values: string[], bare: string[]}[], runs: Run[]}} Group */

const STILLS_ONLY = "Run the cell again to play the clips; these are stills.";
const BUSY = "Loading, waiting for the kernel.";

/** A grid of clips. */
export class Grid {
  /** @type {Map<number, HTMLElement>} */
  figures = new Map();
  /** Where the files of the page are, by row and place; empty for one that the kernel sends. @type {Map<string, string>} */
  addresses = new Map();
  /** @type {Map<HTMLElement, Clip>} */
  #clips = new Map();

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    const payload = JSON.parse(/** @type {HTMLElement} */ (root.querySelector(':scope > script[type="application/json"]')).textContent ?? "");
    /** @type {string} */
    this.key = payload.key;
    /** @type {Group[]} */
    this.groups = payload.groups;
    /** @type {Map<number, {run: Run, group: Group}>} */
    this.runs = new Map(this.groups.flatMap((group) => group.runs.map((run) => [run.row, { run, group }])));
    this.held = heldFor(this.key);
    this.group = /** @type {HTMLElement | null} */ (root.querySelector("[data-rb-clock]"));
    this.clock = new Clock([]);
    if (this.group) {
      const group = /** @type {HTMLElement & {clock?: Clock}} */ (this.group);
      group.clock = this.clock;
      group.dataset.rbLive = "";
    }
    this.view = watchView(this.clock);
    this.picks = new Picks(this, payload);
    this.absent = made("p", { class: "rb-notes", role: "status" });
    for (const figure of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("figure[data-row]"))) this.#take(figure);
    this.clock.measure();
    this.bar = made("div", { class: "rb-viewer-bar" });
    this.stage = new Stage(this);
    root.querySelector(".rb-summary")?.after(this.bar);
    if (!this.bar.isConnected) root.prepend(this.bar);
    this.#addTabs();
    this.#addViews();
    if (this.group) {
      this.stage.place(this.group);
      buttons(this.group, this.clock);
      this.group.append(this.absent);
      this.group.addEventListener("keydown", (event) => keys(event, this.clock));
    }
    const forget = [watchPage(this.clock), onKernel(this.key, () => this.#retry()), onKernel(this.key, (detail) => this.#onCells(detail), "cells")];
    this.close = () => {
      forget.forEach((action) => action());
      this.view.stop();
      this.clock.close();
    };
    this.clock.addEventListener("change", () => (this.held.frame = this.clock.frame));
    if (this.held.frame) this.clock.seek(this.held.frame);
    this.show(this.held.view ?? (root.dataset.view === "one" ? "one" : "grid"));
  }

  /** @param {"grid" | "one"} view @param {number} [row] */
  show(view, row) {
    this.held.view = view;
    this.root.dataset.view = view;
    for (const [name, button] of Object.entries(this.buttons)) button.setAttribute("aria-pressed", String(name === view));
    if (view === "one") this.stage.open(row ?? this.held.row ?? this.groups[0]?.runs[0]?.row);
    else this.stage.close();
  }

  /** Show a clip large, with its keys at hand: what was pressed goes out of the page's view. @param {number} row */
  #enlarge(row) {
    this.show("one", row);
    this.stage.holder.focus();
  }

  /** The clip of a row, if it has one. @param {number} row @returns {Clip | undefined} */
  clipOf(row) {
    return this.#clips.get(/** @type {HTMLElement} */ (this.figures.get(row)));
  }

  /** Replace a cell by a newer state of its run. @param {number} row @param {string} html Markup of ours. @param {Run} run */
  replace(row, html, run) {
    const before = this.figures.get(row);
    if (!before) return;
    const known = this.runs.get(row);
    if (known) Object.assign(known.run, run);
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const figure = /** @type {HTMLElement} */ (holder.content.querySelector("figure"));
    const old = this.#clips.get(before);
    if (old) {
      old.unload();
      this.clock.clips.splice(this.clock.clips.indexOf(old), 1);
    }
    before.replaceWith(figure);
    this.#take(figure);
    this.clock.measure();
    this.picks.draw();
    if (this.held.view === "one" && this.held.row === row) this.stage.open(row);
  }

  /** @param {HTMLElement} figure */
  #take(figure) {
    const row = Number(figure.dataset.row);
    const place = Number(figure.dataset.place);
    const box = /** @type {HTMLElement | null} */ (figure.querySelector(".rb-clip"));
    const isFirst = place === 0;
    if (isFirst) this.figures.set(row, figure);
    this.addresses.set(`${row}/${place}`, box?.querySelector(box.hasAttribute("data-rb-clip") ? "video" : "img")?.getAttribute("src") ?? "");
    if (box?.hasAttribute("data-rb-clip")) {
      const inMarkup = box.querySelector("video")?.getAttribute("src");
      const wait = () => { box.dataset.waiting = BUSY; };
      const bring = async () => {
        const found = await bringFile({ key: this.key, row, place, copy: "preview" }, wait);
        delete box.dataset.waiting;
        this.#setAbsent(found.words === ASK_AGAIN);
        return found;
      };
      const clip = new Clip(box, inMarkup ? null : bring);
      if (clip.video) clip.video.controls = false;
      this.#clips.set(figure, clip);
      this.clock.clips.push(clip);
      this.view.add(clip);
      if (this.key) box.dataset.rbEager = "";
    }
    const known = this.runs.get(row);
    if (!isFirst || !known || !box) return;
    const { run } = known;
    const words = [run.label || run.name, run.price].filter(Boolean).join(" · ");
    figure.append(made("span", { class: "rb-over", "aria-hidden": "true" }, made("bdi", {}, words)));
    box.addEventListener("click", () => { if (this.held.view !== "one") this.#enlarge(row); });
    const name = figure.querySelector("figcaption b");
    if (name) {
      const button = made("button", { type: "button", class: "rb-name", title: "Show it large", onclick: () => this.#enlarge(row) }, name.textContent ?? "");
      name.replaceWith(button);
    }
    this.picks.add(row, figure);
  }

  /** Cells that the kernel replaces while a sweep runs. @param {{cells: {row: number, html: string, run: Run}[]}} detail */
  #onCells({ cells }) {
    if (this.root.isConnected) cells.forEach(({ row, html, run }) => this.replace(row, html, run));
  }

  /** Say once for all clips that nobody sends their files, and hide the buttons that would move nothing. @param {boolean} isAbsent */
  #setAbsent(isAbsent) {
    this.root.toggleAttribute("data-absent", isAbsent);
    this.absent.textContent = isAbsent ? STILLS_ONLY : "";
  }

  #retry() {
    this.#setAbsent(false);
    for (const clip of this.clock.clips) clip.retry();
    this.stage.retry();
  }

  #addTabs() {
    const parts = /** @type {HTMLElement[]} */ ([...this.root.querySelectorAll("[data-rb-part]")]);
    if (parts.length < 2 || this.groups.length > 1) return;
    this.root.dataset.tabs = "";
    const list = made("div", { role: "tablist", "aria-label": "Parts of the grid" });
    const tabs = parts.map((part, place) => {
      const tab = made("button", { type: "button", role: "tab", onclick: () => choose(place) }, made("bdi", {}, part.dataset.rbPart ?? ""));
      part.setAttribute("role", "tabpanel");
      part.setAttribute("aria-label", part.dataset.rbPart ?? "");
      tab.addEventListener("keydown", (event) => {
        const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (!step) return;
        event.preventDefault();
        event.stopPropagation();
        choose((place + step + parts.length) % parts.length, true);
      });
      return tab;
    });
    /** @param {number} chosen @param {boolean} [toFocus] */
    const choose = (chosen, toFocus) => {
      this.held.tab = chosen;
      parts.forEach((part, place) => { part.hidden = place !== chosen; });
      tabs.forEach((tab, place) => {
        tab.setAttribute("aria-selected", String(place === chosen));
        tab.tabIndex = place === chosen ? 0 : -1;
      });
      if (toFocus) tabs[chosen].focus();
    };
    list.append(...tabs);
    this.bar.prepend(list);
    choose(Math.min(this.held.tab ?? 0, parts.length - 1));
  }

  #addViews() {
    /** @type {Record<string, HTMLElement>} */
    this.buttons = {
      grid: made("button", { type: "button" }, "Grid"),
      one: made("button", { type: "button" }, "One at a time"),
    };
    const views = made("div", { class: "rb-views", role: "group", "aria-label": "View" }, ...Object.values(this.buttons));
    this.buttons.grid.addEventListener("click", () => this.show("grid"));
    this.buttons.one.addEventListener("click", () => this.show("one"));
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.held.view !== "one") return;
      event.stopPropagation();
      this.show("grid");
      /** @type {HTMLElement | null | undefined} */ (this.figures.get(this.held.row ?? -1)?.querySelector(".rb-name"))?.focus();
    });
    this.bar.append(...this.picks.nodes, views);
  }
}

/** What somebody has set in the grid of a key. @param {string} key @returns {{frame?: number, view?: "grid" | "one", tab?: number, row?: number}} */
function heldFor(key) {
  const all = (/** @type {any} */ (globalThis).reelbookGrids ??= new Map());
  if (!key) return {};
  if (!all.has(key)) all.set(key, {});
  return all.get(key);
}

for (const root of /** @type {NodeListOf<HTMLElement & {grid?: Grid}>} */ (document.querySelectorAll("[data-rb-viewer]"))) {
  root.grid ??= new Grid(root);
}
