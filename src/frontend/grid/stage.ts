/** One clip of a grid at a time, as large as fits: a control for every axis, and the original file where a kernel sends it. */

import { pageFrames } from "../media/clip.ts";
import { frameAt } from "../media/clock_time.ts";
import { DecodedPicture } from "../media/decoded_picture.ts";
import { Frames } from "../media/frames.ts";
import { choose, made } from "../page/element.ts";
import { bringFile } from "../page/kernel_files.ts";
import type { Grid, Group, Run } from "./grid.ts";

const FEW = 8; // Values of an axis that are all visible; more are a slider.
const REST = 250; // Milliseconds that a clip stands before its original is fetched.

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
  node = made("div", { class: "rb-one" }, this.holder, made("div", {}, this.#axes, this.#words));
  /** The original file of the row on the stage. */
  #original: DecodedPicture | null = null;
  #timer = 0;
  #row = -1;
  /** That whose axes are drawn, and what shows the values of a run in them. */
  #group: Group | null = null;
  #updates: ((run: Run) => void)[] = [];
  /** Puts the box of the clip back into its cell. */
  #giveBack: (() => void) | null = null;

  constructor(readonly grid: Grid) {
    for (const event of ["frame", "change"]) grid.clock.addEventListener(event, () => this.#sharpen());
  }

  open(row: number) {
    const known = this.grid.runs.get(row);
    if (!known || !this.node.isConnected) return;
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
    if (this.#group !== group) this.#drawAxes(group);
    for (const update of this.#updates) update(run);
    const count = group.runs.filter(({ codes }) => codes.every((code, axis) => code === run.codes[axis])).length;
    const state = run.state === "completed" ? "" : run.state;
    const facts = [run.name, run.label, run.price, state, count > 1 ? `${count} runs have these values` : ""];
    this.#words.replaceChildren(made("bdi", {}, facts.filter(Boolean).join(" · ")));
    this.#timer = window.setTimeout(() => this.#fetch(row), REST);
  }

  close() {
    clearTimeout(this.#timer);
    this.#giveBack?.();
    this.#giveBack = null;
    this.#sharp.replaceChildren();
    this.#original?.close();
    this.#original = null;
    this.#row = -1;
  }

  retry() {
    if (this.#row >= 0) this.#fetch(this.#row);
  }

  #drawAxes(group: Group) {
    this.#group = group;
    this.#updates = [];
    const fields = group.axes.map(({ name, bare }, place) => {
      const move = (code: number) => {
        const run = this.grid.runs.get(this.#row)?.run;
        if (run) this.open(nearest(group, run, place, code).row);
      };
      const nodes = bare.length > FEW ? this.#slider(name, bare, place, move) : this.#choices(group, place, move);
      return made("fieldset", { class: "rb-axis" }, made("legend", {}, name), ...nodes);
    });
    // Runs that no axis tells apart.
    if (!group.axes.length || group.runs.length > new Set(group.runs.map(({ codes }) => codes.join())).size) {
      const runs = group.runs.map(({ row, name }): [number, string] => [row, name]);
      const list = choose("run", runs, this.#row, (row) => this.open(Number(row)));
      this.#updates.push(({ row }) => (list.value = String(row)));
      fields.push(made("fieldset", { class: "rb-axis" }, made("legend", {}, "run"), list));
    }
    this.#axes.replaceChildren(...fields);
  }

  #slider(name: string, values: string[], place: number, move: (code: number) => void) {
    const output = made("output");
    const input = made("input", {
      type: "range",
      min: 0,
      max: values.length - 1,
      "aria-label": name,
      oninput: () => move(Number(input.value)),
      onkeydown: (event: KeyboardEvent) => event.stopPropagation(), // Arrows move it, and not the clips.
    });
    this.#updates.push(({ codes }) => {
      input.value = String(codes[place]);
      output.textContent = values[codes[place]];
      input.setAttribute("aria-valuetext", values[codes[place]]);
    });
    return [input, output];
  }

  #choices({ axes, runs }: Group, place: number, move: (code: number) => void) {
    const { bare, name } = axes[place];
    const group = `${name} ${Math.random()}`; // Other grids have groups of their own.
    const labels = bare.map((text, code) => {
      const input = made("input", { type: "radio", name: group, "aria-label": text, onchange: () => move(code) });
      const label = made("label", { title: text }, input, made("bdi", {}, text));
      this.#updates.push(({ codes }) => {
        input.checked = codes[place] === code;
        // The nearest run has another value of another axis as well.
        const hasRun = runs.some((run) =>
          run.codes.every((other, axis) => other === (axis === place ? code : codes[axis])),
        );
        label.toggleAttribute("data-none", !hasRun);
      });
      return label;
    });
    return [made("div", { class: "rb-choices", role: "radiogroup", "aria-label": name }, ...labels)];
  }

  async #fetch(row: number) {
    const clip = this.grid.clipOf(row);
    if (!this.grid.key || !clip || this.#original) return;
    const { index, bytes } = await bringFile({ key: this.grid.key, row });
    if (!index || !bytes || this.#row !== row || this.#original) return;
    const frames = new Frames(pageFrames(), index, bytes);
    if (frames.count !== clip.frames) return frames.close();
    this.#original = new DecodedPicture(frames, document.createElement("div"), clip.rate);
    this.#sharpen();
  }

  /** Show the frame of the original over that of the copy, as soon as it is decoded. */
  async #sharpen() {
    const picture = this.#original;
    const clip = this.grid.clipOf(this.#row);
    if (!clip || !picture) return;
    const { clock } = this.grid;
    const number = frameAt(clip, clock.timeFor(clip, clock.time));
    if (picture.shown !== number) this.#sharp.replaceChildren(); // Never another frame than the copy below it.
    if (clock.playing) picture.follow(number);
    else await picture.show(number).catch(() => null);
    if (picture === this.#original && picture.shown === number && picture.canvas.parentNode !== this.#sharp)
      this.#sharp.replaceChildren(picture.canvas);
  }
}

/** The run with this value of an axis that is nearest in the others. */
function nearest(group: Group, run: Run, place: number, code: number) {
  const away = ({ codes }: Run) =>
    codes.reduce(
      (sum, value, axis) => sum + (axis === place ? 1e6 * Math.abs(value - code) : Math.abs(value - run.codes[axis])),
      0,
    );
  return group.runs.reduce((best, other) => (away(other) < away(best) ? other : best));
}
