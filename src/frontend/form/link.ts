/** The messages between a widget on the page and the kernel; a form sends its draft shortly after a key press, and receives what it is worth. */

import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { made } from "../page/element.ts";
import { Pictures } from "./pictures.ts";
import type { Node, Problem } from "./values.ts";

export type Listener = (content: any, buffers: any[]) => void;

export const KERNEL_ENDED = "The kernel has ended; run the cell again to continue.";
// Long enough for a fast typist's next letter, short enough for a price that keeps up.
const PAUSE = 50;

export class KernelLink {
  model: any;
  /** Whether the kernel is known to be gone. */
  hasEnded = false;
  #listeners: Map<string, Set<Listener>> = new Map();
  #onMessage = (content: any, buffers: any[]) => {
    for (const key of Object.keys(content ?? {})) this.fire(key, content, buffers ?? []);
  };

  constructor(model: any) {
    this.model = model;
    model.on("msg:custom", this.#onMessage);
  }

  dispose() {
    this.model.off("msg:custom", this.#onMessage);
    this.#listeners.clear();
  }

  /** Send, and say so where nobody is left to hear it. @returns Whether it was sent. */
  async ask(content: any, buffers?: any[]): Promise<boolean> {
    let isSent = true;
    try {
      await this.model.send(content, undefined, buffers);
    } catch {
      isSent = false;
    }
    const isNews = isSent === this.hasEnded;
    this.hasEnded = !isSent;
    if (isNews) this.fire("ended");
    if (!isSent) this.fire("trouble", { trouble: KERNEL_ENDED });
    return isSent;
  }

  /** Ask for something and wait for the answer, which has the buffers; an `error` where there is nobody to ask. */
  request(content: any, buffers?: any[]): Promise<any> {
    const id = String(Math.random());
    return new Promise((resolve) => {
      const settle = (answer: any, parts: any[] = []) => {
        off();
        resolve({ ...answer, buffers: parts });
      };
      const off = this.on("did", (answer, parts) => answer.did === id && settle(answer, parts));
      this.ask({ ...content, id }, buffers).then(
        (isSent) => isSent || settle({ error: "The kernel did not accept it. Is it still running?" }),
      );
    });
  }

  /** Messages with this key, or what the host says of the model: "change:…", "comm_live_update". @returns Forget it. */
  on(key: string, listener: Listener): () => void {
    if (/^(change:|comm_)/.test(key)) {
      this.model.on(key, listener);
      return () => this.model.off(key, listener);
    }
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  fire(key: string, content: any = {}, buffers: any[] = []) {
    for (const listener of [...(this.#listeners.get(key) ?? [])]) listener(content, buffers);
  }
}

/**
 * Draws again after each of these messages.
 * @param heard What is done about some of them.
 */
export function useNews(link: KernelLink, keys: string[], heard: Record<string, Listener> = {}) {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const latest = useRef(heard);
  latest.current = heard;
  useLayoutEffect(() => {
    const hears = (key: string) =>
      link.on(key, (content, buffers) => {
        latest.current[key]?.(content, buffers);
        draw(0);
      });
    const offs = [...keys, ...Object.keys(heard)].map(hears);
    return () => offs.forEach((off) => off());
  }, []);
}

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
  /** Whether what begins next is to be brought into view: somebody has just started it here. */
  isAwaited = false;
  /** Whether the kernel has received all edits made here. */
  isHeard = true;
  #n = 0;
  #timer = 0;
  #offs: (() => void)[];

  constructor(model: any) {
    super(model);
    this.state = model.get("state");
    this.draft = this.state.draft;
    this.#offs = [
      this.on("change:state", () => this.#take(model.get("state"))),
      // The host reports a restart at once, before any button is pressed.
      this.on("comm_live_update", () => this.here()),
    ];
  }

  override dispose() {
    this.flush();
    this.#offs.forEach((off) => off());
    super.dispose();
  }

  here() {
    this.ask({ do: "here" });
  }

  node(name: string): Node | undefined {
    return this.model.get("sheet").fields.find((node: Node) => node.name === name);
  }

  /** What a field is drafted as, or its default. */
  current(name: string | undefined): any {
    return name === undefined ? undefined : (this.draft[name] ?? this.node(name)?.default);
  }

  /** @param value undefined for the default */
  edit(name: string, value: any) {
    this.draft = { ...this.draft, [name]: structuredClone(value) };
    if (value === undefined) delete this.draft[name];
    this.#count();
    this.#timer = window.setTimeout(() => this.flush(), PAUSE);
    this.fire("draft");
  }

  /** Send the draft, if the kernel has not heard of it: of two messages that it gets in another order the later one holds. */
  flush() {
    if (!this.#timer) return;
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.ask({ do: "edit", view: this.view, n: this.#n, draft: this.draft });
  }

  /** Run what stands here, at the price on the button: the kernel refuses what costs another one by now. */
  press(again: number): Promise<boolean> {
    const { price, client } = this.state;
    this.#count();
    const shown = { credits: price.credits, client, ...(again ? { again } : {}) };
    return this.ask({ do: "run", view: this.view, n: this.#n, draft: this.draft, ...shown });
  }

  #count() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#n += 1;
    this.isHeard = false;
  }

  /** Apply a state from the kernel; what was edited here since is newer. */
  #take(state: FormState) {
    this.state = state;
    this.isHeard ||= state.view === this.view && state.n >= this.#n;
    if (this.isHeard) this.draft = state.draft;
    this.fire("state");
  }

  /** Read something aloud. */
  say(words: string) {
    this.voice.textContent = words;
  }
}
