/**
 * Clips of a table of runs on one clock: all of them in a grid, or one at a time with a control for every axis.
 *
 * The markup has the posters and what each clip is; files that are not in the page come from the kernel. What somebody has
 * set is held for the page, so that an output which is updated goes on where it was.
 */

import { Clip } from "../media/clip.ts";
import { Clock } from "../media/clock.ts";
import { buttons } from "../media/controls.ts";
import { answerKey, button, choices, made, payloadOf, watchSight } from "../page/element.ts";
import { ASK_AGAIN, bringFile, onKernel } from "../page/kernel_files.ts";
import { Picked } from "../page/picked.ts";
import { Stage } from "./stage.ts";
import "../table/table.ts"; // The rows below the clips.

export type Run = { row: number; codes: number[]; name: string; label: string; price: string; state: string };
export type Group = { model: string; axes: { name: string; bare: string[] }[]; runs: Run[] };

const STILLS_ONLY = "Run the cell again to play the clips; these are stills.";
const BUSY = "Loading, waiting for the kernel.";
const VIEWS = ["grid", "one"] as const;
type View = (typeof VIEWS)[number];

/** What somebody has set in a grid. */
type Held = { frame?: number; view?: View; tab?: number; row?: number };

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
  /** There are no ticks until a kernel says that it listens; other displays of the same table follow. */
  #picked = new Picked(this.#payload, () => this.#drawPicks());
  #count = made("span", { class: "rb-soft", role: "status" });
  #absent = made("p", { class: "rb-notes", role: "status" });
  #views = choices("View", ["Grid", "One at a time"], (place) => this.show(VIEWS[place]));
  #stage = new Stage(this);

  constructor(readonly root: HTMLElement) {
    for (const figure of root.querySelectorAll<HTMLElement>("figure[data-row]")) this.#take(figure);
    this.clock.measure();
    const bar = made("div", { class: "rb-viewer-bar" }, this.#tabs(), this.#count, this.#views.group);
    const summary = root.querySelector(".rb-summary");
    summary ? summary.after(bar) : root.prepend(bar);
    root.addEventListener("keydown", (event) => this.#key(event));
    const group = root.querySelector<HTMLElement & { clock?: Clock }>("[data-rb-clock]");
    if (group) {
      group.clock = this.clock;
      group.dataset.rbLive = "";
      group.prepend(this.#stage.node);
      buttons(group, this.clock, " · Esc back to the grid");
      group.append(this.#absent);
    }
    onKernel(this.key, () => this.#retry());
    onKernel(this.key, ({ cells }) => root.isConnected && cells.forEach((cell: any) => this.#replace(cell)), "cells");
    this.clock.addEventListener("change", () => (this.held.frame = this.clock.frame));
    if (this.held.frame) this.clock.seek(this.held.frame);
    this.show(this.held.view ?? (root.dataset.view as View));
  }

  show(view: View, row = this.held.row ?? this.groups[0]?.runs[0]?.row) {
    this.root.dataset.view = this.held.view = view;
    this.#views.press(VIEWS.indexOf(view));
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
    this.#drawPicks();
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
      watchSight(box, (isInView) => this.clock.see(clip, isInView));
    }
    if (place > 0 || !this.runs.has(row)) return;
    box.addEventListener("click", () => this.held.view === "one" || this.#enlarge(row));
    const name = figure.querySelector("figcaption b");
    const large = { class: "rb-name", title: "Show it large" };
    name?.replaceWith(button(name.textContent ?? "", () => this.#enlarge(row), large));
    const label = `Select ${this.runs.get(row)?.run.label || `row ${row}`}`;
    const pick = { type: "checkbox", class: "rb-pick", hidden: "", "aria-label": label };
    figure.querySelector("figcaption")?.prepend(made("input", { ...pick, onchange: () => this.#picked.toggle(row) }));
  }

  #drawPicks() {
    const { rows, isListening } = this.#picked;
    for (const [row, figure] of this.figures) {
      const box = figure.querySelector<HTMLInputElement>(".rb-pick");
      if (!box) continue;
      box.hidden = !isListening;
      box.checked = rows.has(row);
      figure.toggleAttribute("data-picked", isListening && rows.has(row));
    }
    this.#count.textContent = isListening && rows.size ? `${rows.size} selected` : "";
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
  }

  /** The values of a third axis, one at a time. */
  #tabs() {
    const parts = [...this.root.querySelectorAll<HTMLElement>("[data-rb-part]")];
    if (parts.length < 2 || this.groups.length > 1) return null;
    this.root.dataset.tabs = "";
    const names = parts.map((part) => part.dataset.rbPart ?? "");
    const choose = (chosen: number) => {
      this.held.tab = chosen;
      tabs.press(chosen);
      parts.forEach((part, place) => {
        part.hidden = place !== chosen;
      });
    };
    const tabs = choices("Parts of the grid", names, choose);
    tabs.group.classList.add("rb-tabs");
    choose(Math.min(this.held.tab ?? 0, parts.length - 1));
    return tabs.group;
  }

  /** Escape leads from the large view back to the grid. */
  #key(event: KeyboardEvent) {
    const leave = () => {
      this.show("grid");
      this.figures
        .get(this.held.row ?? -1)
        ?.querySelector<HTMLElement>(".rb-name")
        ?.focus();
    };
    answerKey(event, { escape: this.held.view === "one" ? leave : undefined });
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
