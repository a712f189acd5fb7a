/** The connection of a form to the kernel: sends the draft shortly after a key press, and receives what it is worth. */

import { KernelLink } from "./kernel.ts";
import { Pictures } from "./pictures.ts";
import type { Node, Path, Problem } from "./values.ts";

// Long enough for a fast typist's next letter, short enough for a price that keeps up.
const PAUSE = 50;

/** What Python thinks of a draft. */
export interface FormState {
  /** The page and the number of the edit that was judged. */
  view: string;
  n: number;
  /** Counts the changes of the draft and its price: a press of Run says which one it has seen. */
  change: number;
  draft: Record<string, any>;
  problems: Problem[];
  price: { credits: number | null; told: string; source: string; lines: [string, string][] };
  ready: boolean;
  why: string;
}

export class FormLink extends KernelLink {
  readonly view = `v${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
  draft: Record<string, any>;
  state: FormState;
  readonly pictures = new Pictures(this);
  /** Whether somebody has pressed Run. */
  wasTried = false;
  /** Opens the sweep of a field, in forms that have sweeps. */
  openSweep?: (field?: string) => void;
  #touched: Set<string> = new Set();
  /** Where an entry was added that nobody has left yet. */
  #begun: Path = [];
  #n = 0;
  /** The number of the last edit of each field of which the kernel has not heard yet. */
  #unheard: Map<string, number> = new Map();
  #timer = 0;
  #onState = () => this.#take(this.model.get("state"));
  // The host reports a restart at once, before any button is pressed.
  #onLive = () => this.ask({ do: "here", view: this.view });

  constructor(model: any) {
    super(model);
    this.state = model.get("state");
    this.draft = structuredClone(this.state.draft);
    model.on("change:state", this.#onState);
    model.on("comm_live_update", this.#onLive);
  }

  override dispose() {
    this.flush();
    this.pictures.dispose();
    this.model.off("change:state", this.#onState);
    this.model.off("comm_live_update", this.#onLive);
    super.dispose();
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

  /** Whether a problem need not be displayed yet: a value is missing in a field not edited yet, or in an entry being filled in. */
  isQuiet({ kind, at }: Problem) {
    if (kind !== "missing") return false;
    if (at.length === 1) return !this.wasTried && !this.#touched.has(String(at[0]));
    return this.#begun.length > 0 && this.#begun.every((step, place) => at[place] === step);
  }

  /** Somebody has just added an entry here, and is about to fill it in. */
  begin(path: Path) {
    this.#begun = path;
  }

  /** Whoever was filling in an entry has left it, half done or not. */
  leave() {
    if (!this.#begun.length) return;
    this.#begun = [];
    this._fire("state", this.state, []);
  }

  /** @param value undefined for the default */
  edit(name: string, value: any) {
    this.draft = { ...this.draft, [name]: structuredClone(value) };
    if (value === undefined) delete this.draft[name];
    this.#touched.add(name);
    this.#unheard.set(name, (this.#n += 1));
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.flush(), PAUSE);
    this._fire("draft", this.draft, []);
  }

  /** Send all that the kernel has not heard: of two messages that it gets in another order the later one has everything. */
  flush() {
    if (!this.#timer) return;
    clearTimeout(this.#timer);
    this.#timer = 0;
    const names = [...this.#unheard.keys()];
    const draft = Object.fromEntries(
      names.filter((name) => name in this.draft).map((name) => [name, this.draft[name]]),
    );
    this.ask({ do: "edit", view: this.view, n: this.#n, names, draft });
  }

  /** Display a message where answers to a press of Run appear. */
  announce(words: string) {
    this._fire("said", { said: words }, []);
  }

  /** Apply a state from the kernel; a field that was edited since keeps its value. */
  #take(state: FormState) {
    this.state = state;
    for (const [name, n] of this.#unheard) if (state.view === this.view && n <= state.n) this.#unheard.delete(name);
    const draft = structuredClone(state.draft);
    for (const name of this.#unheard.keys()) {
      if (name in this.draft) draft[name] = this.draft[name];
      else delete draft[name];
    }
    this.draft = draft;
    this._fire("state", state, []);
  }
}
