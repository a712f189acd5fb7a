/** The connection of a form to the kernel: sends edits shortly after a key press, and receives the resulting state. */

import { KernelLink } from "./kernel.ts";

// Long enough for a fast typist's next letter, short enough for a price that keeps up.
const LINK_PAUSE = 50;

export class FormLink extends KernelLink {
  view: string;
  draft: Record<string, any>;
  state: any;
  touched: Set<string>;
  wasTried: boolean;
  _begun: (string | number)[];
  _n: number;
  _edited: Map<string, number>;
  _dirty: Set<string>;
  _timer: number;
  _onState: () => void;
  _onLive: () => Promise<boolean>;
  _before: any;

  constructor(model: any) {
    super(model);
    this.view = `v${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
    this.draft = structuredClone(model.get("state").draft);
    this.state = model.get("state");
    /** Fields that somebody has edited here. */
    this.touched = new Set();
    /** Whether somebody has pressed Run. */
    this.wasTried = false;
    /** Where an entry was added that nobody has left yet. */
    this._begun = [];
    this._n = 0;
    /** The number of the last edit of each field. */
    this._edited = new Map();
    this._dirty = new Set();
    this._timer = 0;
    this._onState = () => this._take(model.get("state"));
    model.on("change:state", this._onState);
    // The host reports a restart at once, before any button is pressed.
    this._onLive = () => this.ask({ do: "here", view: this.view });
    model.on("comm_live_update", this._onLive);
  }

  override dispose() {
    clearTimeout(this._timer);
    this.flush();
    this.model.off("change:state", this._onState);
    this.model.off("comm_live_update", this._onLive);
    super.dispose();
  }

  /** What is drawn for a field. */
  node(name: string) {
    return this.model.get("sheet").fields.find((node: any) => node.name === name);
  }

  /** Whether the kernel has received all edits made here. */
  get isHeard() {
    return !this._dirty.size && this._heard() >= this._n;
  }

  /** Whether a problem need not be displayed yet: a value is missing in a field not edited yet, or in an entry being filled in. */
  isQuiet({ kind, at }: { kind: string; at: (string | number)[] }) {
    if (kind !== "missing") return false;
    if (at.length === 1) return !this.wasTried && !this.touched.has(String(at[0]));
    return this._begun.length > 0 && this._begun.every((step, place) => at[place] === step);
  }

  /** Somebody has just added an entry here, and is about to fill it in. */
  begin(path: (string | number)[]) {
    this._begun = path;
  }

  /** Whoever was filling in an entry has left it, half done or not. */
  leave() {
    if (!this._begun.length) return;
    this._begun = [];
    this._fire("state", this.state, []);
  }

  /** @param value undefined for the default */
  edit(name: string, value: any) {
    if (value === undefined) delete this.draft[name];
    else this.draft[name] = structuredClone(value);
    this.touched.add(name);
    this._n += 1;
    this._edited.set(name, this._n);
    this._dirty.add(name);
    clearTimeout(this._timer);
    this._timer = window.setTimeout(() => this.flush(), LINK_PAUSE);
    this._fire("draft", this.draft, []);
  }

  /** Send what is not sent yet, in the order in which it was edited. */
  flush() {
    clearTimeout(this._timer);
    const names = [...this._dirty].sort((one, other) => (this._edited.get(one) ?? 0) - (this._edited.get(other) ?? 0));
    this._dirty.clear();
    for (const name of names) {
      const content: any = { do: "edit", view: this.view, n: this._edited.get(name), name };
      if (name in this.draft) content.value = this.draft[name];
      this.ask(content);
    }
  }

  /** Display a message where answers to a press of Run appear. */
  announce(words: string) {
    this._fire("said", { said: words }, []);
  }

  _heard() {
    return this.state.view === this.view ? this.state.n : (this._before ?? 0);
  }

  /** Apply a state from the kernel; a field edited since keeps its value. */
  _take(state: any) {
    if (state.view === this.view) this._before = Math.max(this._before ?? 0, state.n);
    this.state = state;
    const heard = this._heard();
    const keeps = (name: string) => this._dirty.has(name) || (this._edited.get(name) ?? 0) > heard;
    for (const name of new Set([...Object.keys(this.draft), ...Object.keys(state.draft)])) {
      if (keeps(name)) continue;
      if (name in state.draft) this.draft[name] = structuredClone(state.draft[name]);
      else delete this.draft[name];
    }
    this._fire("state", state, []);
  }
}
