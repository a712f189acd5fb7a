/** The connection of a form to the kernel: sends the draft shortly after a key press, and receives what it is worth. */

import { made } from "../page/element.ts";
import { KernelLink } from "./kernel.ts";
import { Pictures } from "./pictures.ts";
import type { Node, Problem } from "./values.ts";

// Long enough for a fast typist's next letter, short enough for a price that keeps up.
const PAUSE = 50;

/** What Python thinks of a draft. */
export interface FormState {
  /** The page and the number of the edit that was judged. */
  view: string;
  n: number;
  /** Counts the changes of the draft and its price: a run says which one it is of. */
  change: number;
  draft: Record<string, any>;
  problems: Problem[];
  price: { credits: number | null; told: string; source: string; lines: [string, string][] };
  ready: boolean;
  why: string;
  client: string;
}

export class FormLink extends KernelLink {
  readonly view = `v${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
  readonly pictures = new Pictures(this);
  readonly voice = made("div", { class: "rb-hidden", role: "status", "aria-live": "polite" });
  draft: Record<string, any>;
  state: FormState;
  /** Whether somebody has pressed Run. */
  wasTried = false;
  /** Opens the sweep of a field, in forms that have sweeps. */
  openSweep?: (field?: string) => void;
  #touched: Set<string> = new Set();
  #n = 0;
  /** The fields edited since the kernel has last had all edits. */
  #unheard: Set<string> = new Set();
  #timer = 0;
  #awaited?: AbortSignal;
  #offs: (() => void)[];

  constructor(model: any) {
    super(model);
    this.state = model.get("state");
    this.draft = structuredClone(this.state.draft);
    this.#offs = [
      this.on("change:state", () => this.#take(model.get("state"))),
      // The host reports a restart at once, before any button is pressed.
      this.on("comm_live_update", () => this.here()),
    ];
  }

  override dispose() {
    this.flush();
    this.pictures.dispose();
    this.#offs.forEach((off) => off());
    super.dispose();
  }

  here() {
    this.ask({ do: "here", view: this.view });
  }

  node(name: string): Node | undefined {
    return this.model.get("sheet").fields.find((node: Node) => node.name === name);
  }

  /** What a field is drafted as, or its default. */
  current(name: string | undefined): any {
    return name === undefined ? undefined : (this.draft[name] ?? this.node(name)?.default);
  }

  /** Whether the kernel has received all edits made here. */
  get isHeard() {
    return !this.#unheard.size;
  }

  /** Whether a problem need not be displayed yet: a value is missing in a field not edited yet. */
  isQuiet({ kind, at }: Problem) {
    return kind === "missing" && at.length === 1 && !this.wasTried && !this.#touched.has(String(at[0]));
  }

  /** @param value undefined for the default */
  edit(name: string, value: any) {
    this.draft = { ...this.draft, [name]: structuredClone(value) };
    if (value === undefined) delete this.draft[name];
    this.#touched.add(name);
    this.#unheard.add(name);
    this.#n += 1;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.flush(), PAUSE);
    this.fire("draft");
  }

  /** Send all that the kernel has not heard: of two messages that it gets in another order the later one has everything. */
  flush() {
    if (this.#timer) this.ask({ do: "edit", ...this.#pack() });
  }

  /** Run what stands here, at the price on the button: the kernel refuses what costs another one by now. */
  press(again: number): Promise<boolean> {
    const { price, client } = this.state;
    this.wasTried = true;
    this.#n += 1;
    for (const { name } of this.model.get("sheet").fields) this.#unheard.add(name);
    const shown = { credits: price.credits, client, ...(again ? { again } : {}) };
    return this.ask({ do: "run", ...this.#pack(), ...shown });
  }

  #pack() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const names = [...this.#unheard];
    const typed = names.filter((name) => name in this.draft).map((name) => [name, this.draft[name]]);
    return { view: this.view, n: this.#n, names, draft: Object.fromEntries(typed) };
  }

  /** Apply a state from the kernel; fields that were edited since keep their values. */
  #take(state: FormState) {
    this.state = state;
    if (state.view === this.view && state.n >= this.#n) this.#unheard.clear();
    const draft = structuredClone(state.draft);
    for (const name of this.#unheard) {
      if (name in this.draft) draft[name] = this.draft[name];
      else delete draft[name];
    }
    this.draft = draft;
    this.fire("state");
  }

  /** Whoever presses Run wants to see what comes of it, until they do something else. */
  await() {
    const ends = new AbortController();
    const options = { signal: ends.signal, capture: true, passive: true };
    this.#awaited = ends.signal;
    for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"])
      document.addEventListener(kind, () => ends.abort(), options);
  }

  /** Whether what has just begun is awaited; asked once. */
  takeAwaited() {
    const is = this.#awaited?.aborted === false;
    this.#awaited = undefined;
    return is;
  }

  /** Read something aloud. */
  say(words: string) {
    this.voice.textContent = words;
  }
}
