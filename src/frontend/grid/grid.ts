/**
 * Clips of a table of runs on one clock: all of them in a grid, or one at a time with a control for every axis.
 *
 * The markup has the posters and what each clip is; files that are not in the page come from the kernel. What somebody has
 * set is held for the page, so that an output which is updated goes on where it was.
 */

import { Clip } from "../media/clip.ts";
import { Clock, watchPage, watchView } from "../media/clock.ts";
import { buttons, keys } from "../media/controls.ts";
import { button, made, payloadOf } from "../page/element.ts";
import { ASK_AGAIN, bringFile, onKernel } from "../page/kernel_files.ts";
import { answerKey } from "../page/keys.ts";
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
  #payload = payloadOf(this.root);
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
  #views = { grid: button("Grid", () => this.show("grid")), one: button("One at a time", () => this.show("one")) };
  #stage = new Stage(this);

  constructor(readonly root: HTMLElement) {
    for (const figure of root.querySelectorAll<HTMLElement>("figure[data-row]")) this.#take(figure);
    this.clock.measure();
    const views = { class: "rb-views", role: "group", "aria-label": "View" };
    const bar = made("div", { class: "rb-viewer-bar" }, ...this.#tabs(), this.#picks.count);
    bar.append(made("div", views, ...Object.values(this.#views)));
    const summary = root.querySelector(".rb-summary");
    summary ? summary.after(bar) : root.prepend(bar);
    root.addEventListener("keydown", (event) => this.#key(event));
    const group = root.querySelector<HTMLElement & { clock?: Clock }>("[data-rb-clock]");
    if (group) {
      group.clock = this.clock;
      group.dataset.rbLive = "";
      group.prepend(this.#stage.node);
      buttons(group, this.clock);
      group.append(this.#absent);
      group.addEventListener("keydown", (event) => keys(event, this.clock));
    }
    watchPage(this.clock);
    onKernel(this.key, () => this.#retry());
    onKernel(this.key, ({ cells }) => root.isConnected && cells.forEach((cell: any) => this.#replace(cell)), "cells");
    this.clock.addEventListener("change", () => (this.held.frame = this.clock.frame));
    if (this.held.frame) this.clock.seek(this.held.frame);
    this.show(this.held.view ?? (root.dataset.view === "one" ? "one" : "grid"));
  }

  show(view: "grid" | "one", row = this.held.row ?? this.groups[0]?.runs[0]?.row) {
    this.root.dataset.view = this.held.view = view;
    for (const [name, one] of Object.entries(this.#views)) one.setAttribute("aria-pressed", String(name === view));
    if (view === "one") this.#stage.open(row);
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

  /** Replace a cell by a newer state of its run, while a sweep fills the grid. @param html Markup of ours. */
  #replace({ row, html, run }: { row: number; html: string; run: Run }) {
    const before = this.figures.get(row);
    if (!before) return;
    Object.assign(this.runs.get(row)?.run ?? {}, run);
    const old = this.#clips.get(before);
    old?.unload();
    this.clock.clips = this.clock.clips.filter((clip) => clip !== old);
    const { content } = Object.assign(document.createElement("template"), { innerHTML: html });
    const figure = content.querySelector("figure") as HTMLElement;
    before.replaceWith(figure);
    this.#take(figure);
    this.clock.measure();
    this.#picks.draw();
    if (this.held.view === "one" && this.held.row === row) this.#stage.open(row);
  }

  #take(figure: HTMLElement) {
    const [row, place] = [Number(figure.dataset.row), Number(figure.dataset.place)];
    const box = figure.querySelector<HTMLElement>(".rb-clip");
    if (place === 0) this.figures.set(row, figure);
    if (!box) return;
    const isClip = box.hasAttribute("data-rb-clip");
    const address = box.querySelector(isClip ? "video" : "img")?.getAttribute("src") ?? "";
    this.addresses.set(`${row}/${place}`, address);
    if (isClip) {
      const clip = new Clip(box, address ? null : () => this.#bring(box, row, place));
      if (clip.video) clip.video.controls = false;
      this.#clips.set(figure, clip);
      this.clock.clips.push(clip);
      this.#view.add(clip);
      if (this.key) box.dataset.rbEager = "";
    }
    if (place > 0 || !this.runs.has(row)) return;
    box.addEventListener("click", () => this.held.view === "one" || this.#enlarge(row));
    const name = figure.querySelector("figcaption b");
    const large = { class: "rb-name", title: "Show it large" };
    name?.replaceWith(button(name.textContent ?? "", () => this.#enlarge(row), large));
    this.#picks.add(row, figure);
  }

  async #bring(box: HTMLElement, row: number, place: number) {
    const wait = () => (box.dataset.waiting = BUSY);
    const found = await bringFile({ key: this.key, row, place, copy: "preview" }, wait);
    delete box.dataset.waiting;
    this.#setAbsent(found.words === ASK_AGAIN);
    return found;
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

  /** The values of a third axis, one at a time. */
  #tabs() {
    const parts = [...this.root.querySelectorAll<HTMLElement>("[data-rb-part]")];
    if (parts.length < 2 || this.groups.length > 1) return [];
    this.root.dataset.tabs = "";
    const choose = (chosen: number) => {
      this.held.tab = chosen;
      parts.forEach((part, place) => {
        part.hidden = place !== chosen;
        tabs[place].setAttribute("aria-selected", String(place === chosen));
        tabs[place].tabIndex = place === chosen ? 0 : -1;
      });
    };
    const tabs = parts.map((part, place) => {
      const name = part.dataset.rbPart ?? "";
      part.setAttribute("role", "tabpanel");
      part.setAttribute("aria-label", name);
      return button(made("bdi", {}, name), () => choose(place), { role: "tab" });
    });
    const list = made("div", { role: "tablist", "aria-label": "Parts of the grid" }, ...tabs);
    list.addEventListener("keydown", (event) => {
      const go = (step: number) => () => {
        choose(((this.held.tab ?? 0) + step + parts.length) % parts.length);
        tabs[this.held.tab ?? 0].focus();
      };
      answerKey(event, { ArrowRight: go(1), ArrowLeft: go(-1) });
    });
    choose(Math.min(this.held.tab ?? 0, parts.length - 1));
    return [list];
  }

  #key(event: KeyboardEvent) {
    if (event.key !== "Escape" || this.held.view !== "one") return;
    event.stopPropagation();
    this.show("grid");
    const figure = this.figures.get(this.held.row ?? -1);
    figure?.querySelector<HTMLElement>(".rb-name")?.focus();
  }
}

/** What somebody has set in the grid of a key. */
function heldFor(key: string): Held {
  const all: Map<string, Held> = ((globalThis as any).reelbookGrids ??= new Map());
  const held = all.get(key) ?? {};
  if (key) all.set(key, held);
  return held;
}

for (const root of document.querySelectorAll<HTMLElement & { grid?: Grid }>("[data-rb-viewer]"))
  root.grid ??= new Grid(root);
