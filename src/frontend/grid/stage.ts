/** One clip of a grid at a time, as large as fits: a slider for every axis, and the original file where a kernel sends it. */

import { Clip, makeClipBox } from "../media/clip.ts";
import { choose, made, slider } from "../page/element.ts";
import { bringFile } from "../page/kernel_files.ts";
import type { Grid, Group, Run } from "./grid.ts";

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
  #axes = made("div", { class: "rb-axes" });
  #words = made("p", { class: "rb-one-words", role: "status" });
  node = made("div", { class: "rb-one" }, this.holder, made("div", {}, this.#axes, this.#words));
  /** The original file of the row on the stage, on the copy in the page. */
  #original: Clip | null = null;
  #timer = 0;
  #row = -1;
  /** That whose axes are drawn, and what shows the values of a run in them. */
  #group: Group | null = null;
  #updates: ((run: Run) => void)[] = [];
  /** Puts the box of the clip back into its cell. */
  #giveBack: (() => void) | null = null;

  constructor(readonly grid: Grid) {
    this.holder.addEventListener("reelbook:drawn", () => this.#sharpen());
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
      this.holder.replaceChildren(box);
    }
    if (this.#group !== group) this.#drawAxes(group);
    for (const update of this.#updates) update(run);
    const state = run.state === "completed" ? "" : run.state;
    const facts = [run.name, run.label, run.price, state];
    this.#words.replaceChildren(made("bdi", {}, facts.filter(Boolean).join(" · ")));
    this.#timer = window.setTimeout(() => this.#fetch(row), REST);
  }

  close() {
    clearTimeout(this.#timer);
    this.#giveBack?.();
    this.#giveBack = null;
    this.#row = -1;
    const { clock } = this.grid;
    clock.clips = clock.clips.filter((clip) => clip !== this.#original);
    this.#original?.unload();
    this.#original?.box.remove();
    this.#original = null;
  }

  #drawAxes(group: Group) {
    this.#group = group;
    this.#updates = [];
    const fields = group.axes.map(({ name, bare }, place) => {
      const move = (code: number) => {
        const run = this.grid.runs.get(this.#row)?.run;
        if (run) this.open(nearest(group, run, place, code).row);
      };
      const input = slider(name, move, { min: 0, max: bare.length - 1 });
      const output = made("output");
      this.#updates.push(({ codes }) => {
        input.value = String(codes[place]);
        output.textContent = bare[codes[place]];
        input.setAttribute("aria-valuetext", output.textContent);
      });
      return made("div", { class: "rb-axis" }, made("bdi", {}, name), output, input);
    });
    const runs = group.runs.map(({ row, name }): [number, string] => [row, name]);
    const list = choose("run", runs, this.#row, (row) => this.open(Number(row)));
    this.#updates.push(({ row }) => (list.value = String(row)));
    this.#axes.replaceChildren(...fields, made("div", { class: "rb-axis" }, made("bdi", {}, "run"), list));
  }

  /** Have the original decoded as well; where it cannot be, the copy stays. */
  #fetch(row: number) {
    const { key, clock } = this.grid;
    const copy = this.grid.clipOf(row);
    if (!key || !copy) return;
    const box = makeClipBox(
      { frames: copy.frames, rate: copy.box.dataset.rate ?? "" },
      { class: "rb-sharp", hidden: "" },
    );
    this.holder.append(box);
    this.#original = new Clip(box, async () => {
      const { index, bytes } = await bringFile({ key, row });
      return { index, bytes };
    });
    clock.clips.push(this.#original);
    clock.see(this.#original, true);
    if (!clock.playing) clock.seek(clock.frame); // Before the first step there is the poster alone.
  }

  /** Show the original while it is at the frame of the copy below it, and never at another one. */
  #sharpen() {
    const copy = this.grid.clipOf(this.#row);
    if (this.#original) this.#original.box.hidden = this.#original.shown !== copy?.shown;
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
