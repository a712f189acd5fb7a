/** One clip of a grid at a time, as large as fits: a control for every axis, and the original file where a kernel sends it. */

import { pageFrames } from "../media/clip.ts";
import { frameAt } from "../media/clock_time.ts";
import { DecodedPicture } from "../media/decoded_picture.ts";
import { Frames } from "../media/frames.ts";
import { made } from "../page/element.ts";
import { bringFile } from "../page/kernel_files.ts";
import type { Grid, Group, Run } from "./grid.ts";

const FEW = 8; // Values of an axis that are buttons; more are a slider.
const REST = 250; // Milliseconds that a clip stands before its original is fetched.
const MAX_ORIGINALS = 4;

/** The large view of a grid. */
export class Stage {
  holder = made("div", {
    class: "rb-one-clip",
    tabindex: "-1",
    role: "group",
    "aria-label": "The clip, large",
    onclick: () => this.grid.clock.toggle(),
  });
  #sharp = made("div", { class: "rb-sharp" });
  #axes = made("div", { class: "rb-axes" });
  #words = made("p", { class: "rb-one-words", role: "status" });
  #node = made("div", { class: "rb-one" }, this.holder, made("div", {}, this.#axes, this.#words));
  /** Pictures of original files by row, the least recently used first. */
  #originals: Map<number, DecodedPicture> = new Map();
  #timer = 0;
  #row = -1;
  /** That whose axes are drawn. */
  #group: Group | null = null;
  /** Puts the box of the clip back into its cell. */
  #giveBack: (() => void) | null = null;

  constructor(readonly grid: Grid) {
    for (const event of ["frame", "change"]) grid.clock.addEventListener(event, () => this.#sharpen());
  }

  /** @param group The clips and their controls. */
  place(group: HTMLElement) {
    group.insertBefore(this.#node, group.firstChild);
  }

  open(row: number | undefined) {
    const known = row === undefined ? undefined : this.grid.runs.get(row);
    if (row === undefined || !known || !this.#node.isConnected) return;
    this.close();
    this.#row = this.grid.held.row = row;
    const { run, group } = known;
    const box = this.grid.figures.get(row)?.querySelector(".rb-clip");
    if (box) {
      const mark = document.createComment("");
      box.replaceWith(mark);
      this.#giveBack = () => mark.replaceWith(box);
      this.holder.replaceChildren(box, this.#sharp);
    }
    this.#drawAxes(group, run);
    const count = group.runs.filter(({ codes }) => codes.every((code, axis) => code === run.codes[axis])).length;
    const state = run.state === "completed" ? "" : run.state;
    const facts = [run.name, run.label, run.price, state, count > 1 ? `${count} runs have these values` : ""];
    this.#words.replaceChildren(made("bdi", {}, facts.filter(Boolean).join(" · ")));
    clearTimeout(this.#timer);
    if (this.grid.key && this.grid.clipOf(row)) this.#timer = window.setTimeout(() => this.#fetch(row), REST);
    this.#sharpen();
  }

  close() {
    clearTimeout(this.#timer);
    this.#giveBack?.();
    this.#giveBack = null;
    this.#sharp.replaceChildren();
    this.#row = -1;
  }

  retry() {
    if (this.#row >= 0) this.#fetch(this.#row);
  }

  #drawAxes(group: Group, run: Run) {
    const hadFocus = this.#axes.contains(document.activeElement)
      ? (document.activeElement as HTMLElement).dataset.axis
      : null;
    // A slider stays on the page while it is dragged: one that is replaced has no pointer any more.
    const before = this.#group === group ? ([...this.#axes.children] as HTMLElement[]) : [];
    if (!before.length) this.#axes.replaceChildren();
    this.#group = group;
    const fields = group.axes.map((axis, place) => {
      const choose = (code: number) =>
        this.open(nearest(group, this.grid.runs.get(this.#row)?.run ?? run, place, code).row);
      if (axis.bare.length <= FEW)
        return made(
          "fieldset",
          { class: "rb-axis" },
          made("legend", {}, axis.name),
          ...this.#choices(group, place, run, choose),
        );
      const field =
        before[place] ??
        made("fieldset", { class: "rb-axis" }, made("legend", {}, axis.name), ...this.#slider(axis, place, choose));
      const [input, output] = [field.querySelector("input") as HTMLInputElement, field.querySelector("output")];
      input.value = String(run.codes[place]);
      input.setAttribute("aria-valuetext", axis.bare[run.codes[place]]);
      output?.replaceChildren(axis.bare[run.codes[place]]);
      return field;
    });
    if (!group.axes.length || group.runs.length > new Set(group.runs.map(({ codes }) => codes.join())).size)
      fields.push(this.#list(group, run));
    fields.forEach((field, place) => {
      if (!before[place]) this.#axes.append(field);
      else if (before[place] !== field) before[place].replaceWith(field);
    });
    if (hadFocus)
      (this.#axes.querySelector(`[data-axis="${hadFocus}"]:is(input, [tabindex="0"])`) as HTMLElement | null)?.focus();
  }

  #slider(axis: { bare: string[]; name: string }, place: number, choose: (code: number) => void) {
    const input = made("input", {
      type: "range",
      min: 0,
      max: axis.bare.length - 1,
      "aria-label": axis.name,
      "data-axis": place,
      oninput: () => choose(Number(input.value)),
      onkeydown: (event: KeyboardEvent) => event.stopPropagation(), // Arrows move it, and not the clips.
    });
    return [input, made("output")];
  }

  #choices(group: Group, place: number, run: Run, choose: (code: number) => void) {
    const { bare, name } = group.axes[place];
    const hasRun = (code: number) =>
      group.runs.some(({ codes }) => codes.every((other, axis) => other === (axis === place ? code : run.codes[axis])));
    const move = (event: KeyboardEvent, code: number) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      choose((code + step + bare.length) % bare.length);
    };
    const buttons = bare.map((text, code) => {
      const isChosen = code === run.codes[place];
      const attributes = {
        type: "button",
        role: "radio",
        "aria-checked": String(isChosen),
        tabindex: isChosen ? 0 : -1,
        "data-axis": place,
        // The nearest run has another value of another axis as well.
        "data-none": !isChosen && !hasRun(code),
        title: text,
        onclick: () => choose(code),
        onkeydown: (event: KeyboardEvent) => move(event, code),
      };
      return made("button", attributes, made("bdi", {}, text));
    });
    return [made("div", { class: "rb-choices", role: "radiogroup", "aria-label": name }, ...buttons)];
  }

  /** Runs that no axis tells apart. */
  #list(group: Group, run: Run) {
    const select = made("select", { "aria-label": "run", onchange: () => this.open(Number(select.value)) });
    for (const { row, name } of group.runs)
      select.append(made("option", { value: String(row), ...(row === run.row ? { selected: "" } : {}) }, name));
    return made("fieldset", { class: "rb-axis" }, made("legend", {}, "run"), select);
  }

  /** The original of this row, once. */
  async #fetch(row: number) {
    const clip = this.grid.clipOf(row);
    if (!clip || this.#originals.has(row)) return;
    const { index, bytes } = await bringFile({ key: this.grid.key, row });
    if (!index || !bytes || this.#originals.has(row)) return;
    const frames = new Frames(pageFrames(), index, bytes);
    if (frames.count !== clip.frames) return frames.close();
    const holder = document.createElement("div");
    this.#originals.set(row, new DecodedPicture(frames, holder, clip.rate));
    for (const [oldest, picture] of this.#originals) {
      if (this.#originals.size <= MAX_ORIGINALS) break;
      picture.close();
      this.#originals.delete(oldest);
    }
    this.#sharpen();
  }

  /** Show the frame of the original over that of the copy, as soon as it is decoded. */
  async #sharpen() {
    const row = this.#row;
    const clip = this.grid.clipOf(row);
    const picture = this.#originals.get(row);
    if (!clip || !picture) return this.#sharp.replaceChildren();
    this.#originals.delete(row); // To the end: used most recently.
    this.#originals.set(row, picture);
    const { clock } = this.grid;
    const number = frameAt(clip, clock.timeFor(clip, clock.time));
    if (picture.shown !== number) this.#sharp.replaceChildren(); // Never another frame than the copy below it.
    if (clock.playing) picture.follow(number);
    else await picture.show(number).catch(() => null);
    if (row === this.#row && picture.shown === number && picture.canvas.parentNode !== this.#sharp)
      this.#sharp.replaceChildren(picture.canvas);
  }
}

/** The run with this value of an axis that is nearest in the others. */
function nearest(group: Group, run: Run, place: number, code: number) {
  const away = (other: Run) =>
    other.codes.reduce(
      (sum, value, axis) => sum + (axis === place ? 1e6 * Math.abs(value - code) : Math.abs(value - run.codes[axis])),
      0,
    );
  return group.runs.reduce((best, other) => (away(other) < away(best) ? other : best));
}
