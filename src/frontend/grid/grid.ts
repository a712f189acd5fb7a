/**
 * Clips of a table of runs on one clock: all of them in a grid, or one at a time with a control for every axis.
 *
 * The markup has the posters and what each clip is; files that are not in the page come from the kernel. What somebody has
 * set is held for the page, so that an output which is updated goes on where it was.
 */

import { Clip } from "../media/clip.ts";
import { Clock, watchPage, watchView } from "../media/clock.ts";
import { buttons, keys } from "../media/controls.ts";
import { made } from "../page/element.ts";
import { ASK_AGAIN, bringFile, onKernel } from "../page/kernel_files.ts";
import { Picks } from "./picks.ts";
import { Stage } from "./stage.ts";
import "../table/table.ts"; // The rows below the clips.

export type Run = { row: number; codes: number[]; name: string; label: string; price: string; state: string };
export type Group = { model: string; axes: { name: string; values: string[]; bare: string[] }[]; runs: Run[] };

const STILLS_ONLY = "Run the cell again to play the clips; these are stills.";
const BUSY = "Loading, waiting for the kernel.";

/** What somebody has set in a grid. */
type Held = { frame?: number; view?: "grid" | "one"; tab?: number; row?: number };

/** A grid of clips. */
export class Grid {
  #payload = JSON.parse(this.root.querySelector(':scope > script[type="application/json"]')?.textContent ?? "{}");
  key: string = this.#payload.key;
  groups: Group[] = this.#payload.groups;
  runs = new Map(this.groups.flatMap((group) => group.runs.map((run) => [run.row, { run, group }])));
  held = heldFor(this.key);
  clock = new Clock([]);
  figures: Map<number, HTMLElement> = new Map();
  /** Where the files of the page are, by row and place; empty for one that the kernel sends. */
  addresses: Map<string, string> = new Map();
  #clips: Map<HTMLElement, Clip> = new Map();
  #view = watchView(this.clock);
  #picks = new Picks(this, this.#payload);
  #absent = made("p", { class: "rb-notes", role: "status" });
  #buttons = {
    grid: made("button", { type: "button", onclick: () => this.show("grid") }, "Grid"),
    one: made("button", { type: "button", onclick: () => this.show("one") }, "One at a time"),
  };
  #bar = made("div", { class: "rb-viewer-bar" });
  #stage = new Stage(this);

  constructor(readonly root: HTMLElement) {
    for (const figure of root.querySelectorAll<HTMLElement>("figure[data-row]")) this.#take(figure);
    this.clock.measure();
    const summary = root.querySelector(".rb-summary");
    summary ? summary.after(this.#bar) : root.prepend(this.#bar);
    this.#addTabs();
    const views = { class: "rb-views", role: "group", "aria-label": "View" };
    this.#bar.append(...this.#picks.nodes, made("div", views, ...Object.values(this.#buttons)));
    root.addEventListener("keydown", (event) => this.#key(event));
    const group = root.querySelector<HTMLElement & { clock?: Clock }>("[data-rb-clock]");
    if (group) {
      group.clock = this.clock;
      group.dataset.rbLive = "";
      this.#stage.place(group);
      buttons(group, this.clock);
      group.append(this.#absent);
      group.addEventListener("keydown", (event) => keys(event, this.clock));
    }
    watchPage(this.clock);
    onKernel(this.key, () => this.#retry());
    onKernel(this.key, (detail) => this.#onCells(detail), "cells");
    this.clock.addEventListener("change", () => (this.held.frame = this.clock.frame));
    if (this.held.frame) this.clock.seek(this.held.frame);
    this.show(this.held.view ?? (root.dataset.view === "one" ? "one" : "grid"));
  }

  show(view: "grid" | "one", row?: number) {
    this.held.view = view;
    this.root.dataset.view = view;
    for (const [name, button] of Object.entries(this.#buttons))
      button.setAttribute("aria-pressed", String(name === view));
    if (view === "one") this.#stage.open(row ?? this.held.row ?? this.groups[0]?.runs[0]?.row);
    else this.#stage.close();
  }

  /** Show a clip large, with its keys at hand: what was pressed goes out of the page's view. */
  #enlarge(row: number) {
    this.show("one", row);
    this.#stage.holder.focus();
  }

  /** The clip of a row, if it has one. */
  clipOf(row: number): Clip | undefined {
    return this.#clips.get(this.figures.get(row) as HTMLElement);
  }

  /** Replace a cell by a newer state of its run. @param html Markup of ours. */
  replace(row: number, html: string, run: Run) {
    const before = this.figures.get(row);
    if (!before) return;
    const known = this.runs.get(row);
    if (known) Object.assign(known.run, run);
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const figure = holder.content.querySelector("figure") as HTMLElement;
    const old = this.#clips.get(before);
    if (old) {
      old.unload();
      this.clock.clips.splice(this.clock.clips.indexOf(old), 1);
    }
    before.replaceWith(figure);
    this.#take(figure);
    this.clock.measure();
    this.#picks.draw();
    if (this.held.view === "one" && this.held.row === row) this.#stage.open(row);
  }

  #take(figure: HTMLElement) {
    const row = Number(figure.dataset.row);
    const place = Number(figure.dataset.place);
    const box = figure.querySelector(".rb-clip") as HTMLElement | null;
    const isFirst = place === 0;
    if (isFirst) this.figures.set(row, figure);
    this.addresses.set(
      `${row}/${place}`,
      box?.querySelector(box.hasAttribute("data-rb-clip") ? "video" : "img")?.getAttribute("src") ?? "",
    );
    if (box?.hasAttribute("data-rb-clip")) {
      const inMarkup = box.querySelector("video")?.getAttribute("src");
      const bring = async () => {
        const found = await bringFile({ key: this.key, row, place, copy: "preview" }, () => {
          box.dataset.waiting = BUSY;
        });
        delete box.dataset.waiting;
        this.#setAbsent(found.words === ASK_AGAIN);
        return found;
      };
      const clip = new Clip(box, inMarkup ? null : bring);
      if (clip.video) clip.video.controls = false;
      this.#clips.set(figure, clip);
      this.clock.clips.push(clip);
      this.#view.add(clip);
      if (this.key) box.dataset.rbEager = "";
    }
    const known = this.runs.get(row);
    if (!isFirst || !known || !box) return;
    const { run } = known;
    const words = [run.label || run.name, run.price].filter(Boolean).join(" · ");
    figure.append(made("span", { class: "rb-over", "aria-hidden": "true" }, made("bdi", {}, words)));
    box.addEventListener("click", () => {
      if (this.held.view !== "one") this.#enlarge(row);
    });
    const name = figure.querySelector("figcaption b");
    if (name) {
      const large = { type: "button", class: "rb-name", title: "Show it large", onclick: () => this.#enlarge(row) };
      name.replaceWith(made("button", large, name.textContent));
    }
    this.#picks.add(row, figure);
  }

  /** Cells that the kernel replaces while a sweep runs. */
  #onCells({ cells }: { cells: { row: number; html: string; run: Run }[] }) {
    if (this.root.isConnected) cells.forEach(({ row, html, run }) => this.replace(row, html, run));
  }

  /** Say once for all clips that nobody sends their files, and hide the buttons that would move nothing. */
  #setAbsent(isAbsent: boolean) {
    this.root.toggleAttribute("data-absent", isAbsent);
    this.#absent.textContent = isAbsent ? STILLS_ONLY : "";
  }

  #retry() {
    this.#setAbsent(false);
    for (const clip of this.clock.clips) clip.retry();
    this.#stage.retry();
  }

  #addTabs() {
    const parts = [...this.root.querySelectorAll("[data-rb-part]")] as HTMLElement[];
    if (parts.length < 2 || this.groups.length > 1) return;
    this.root.dataset.tabs = "";
    const list = made("div", { role: "tablist", "aria-label": "Parts of the grid" });
    const tabs = parts.map((part, place) => {
      const tab = made(
        "button",
        { type: "button", role: "tab", onclick: () => choose(place) },
        made("bdi", {}, part.dataset.rbPart ?? ""),
      );
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
    const choose = (chosen: number, toFocus?: boolean) => {
      this.held.tab = chosen;
      parts.forEach((part, place) => {
        part.hidden = place !== chosen;
      });
      tabs.forEach((tab, place) => {
        tab.setAttribute("aria-selected", String(place === chosen));
        tab.tabIndex = place === chosen ? 0 : -1;
      });
      if (toFocus) tabs[chosen].focus();
    };
    list.append(...tabs);
    this.#bar.prepend(list);
    choose(Math.min(this.held.tab ?? 0, parts.length - 1));
  }

  #key(event: KeyboardEvent) {
    if (event.key !== "Escape" || this.held.view !== "one") return;
    event.stopPropagation();
    this.show("grid");
    this.figures
      .get(this.held.row ?? -1)
      ?.querySelector<HTMLElement>(".rb-name")
      ?.focus();
  }
}

/** What somebody has set in the grid of a key. */
function heldFor(key: string): Held {
  const all = ((globalThis as any).reelbookGrids ??= new Map());
  if (!key) return {};
  if (!all.has(key)) all.set(key, {});
  return all.get(key);
}

for (const root of document.querySelectorAll<HTMLElement & { grid?: Grid }>("[data-rb-viewer]")) {
  root.grid ??= new Grid(root);
}
